// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The outcome of a wait. Most callers treat it as an `absl::StatusOr<T>`, to
// which it also converts:
//
//   waiter::WaitResult<Instance> result = wait_until_running.Wait();
//   if (!result.ok()) return result.status();
//   Use(result->address);
//
// `reason()` tells the limits apart, and `report()` has numbers and times:
//
//   if (result.reason() == waiter::StopReason::kDeadline &&
//       result.report().count(waiter::PollStatus::kServerError) > 0) {
//     LOG(WARNING) << "last error: " << result.report().last_error->detail();
//   }
//
// A report also prints as one line: `LOG(INFO) << result.report();`.
// testing/matchers.h provides gMock matchers for results.

#ifndef WAITER_RESULT_H_
#define WAITER_RESULT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/poll.h"

namespace waiter {

// The event that ended a wait, with the code of `WaitReport::status`. If the
// status function itself fails with kCancelled or kDeadlineExceeded, the reason
// is still `kFailed`.
enum class StopReason : uint8_t {
  kSuccess,           // The status function found success.
  kFailed,            // It found failure: the code of its error.
  kDeadline,          // `timeout` or `deadline`: kDeadlineExceeded.
  kCancelled,         // A stop was requested: kCancelled.
  kAttempts,          // `max_attempts`: kResourceExhausted.
  kConsecutiveLimit,  // A limit on consecutive errors: kResourceExhausted.
  kDelaySource,       // `delay_source` wants no more polls: kResourceExhausted.
  kQuota,             // `retry_quota` refused a poll: kResourceExhausted.
  kShutDown,          // The engine was destroyed: kCancelled.
  kInvalidOptions,    // Nothing was polled: kInvalidArgument names the field.
};

// Returns "success", "failed", "deadline", and so on.
std::string_view StopReasonName(StopReason reason);

// Returns the limit that ended a wait, if `status` is its kResourceExhausted
// error or a copy of that, otherwise nullopt. It distinguishes a limit of a
// wait inside a status function from a service's throttling.
std::optional<StopReason> LimitOf(const absl::Status& status);

// One poll of a report's history.
struct PollRecord {
  int64_t attempt;         // Ordinal of the poll, from 1.
  absl::Duration started;  // Since the start of the wait.
  absl::Duration took;     // From the poll's start to its end.
  PollStatus status;
  std::string detail;    // `Poll::detail()`, a text for people.
  absl::Duration delay;  // All sleeps between this poll and the next one.
};

// Everything about a wait except its value: why it ended, how many polls it
// made, how long it took, and the polls' answers. A wait on a `WaitEngine` with
// `ReportLevel::kLean` fills in less; see engine/engine.h.
struct WaitReport {
  StopReason reason = StopReason::kInvalidOptions;

  // OK exactly for success. For `kFailed`, it has the code and payloads of the
  // error of the status function, or kUnknown if the function gave none or
  // threw. The error's message is followed by the name of the wait, the number
  // of attempts and the time; the error itself is `last_poll.error()`. For
  // every limit, the message has one shape: the name of the wait, the limit,
  // the number of attempts, the time, and the last poll's answer:
  //
  //   vm FAILED (instance i-0abc, after 3 attempts in 12s)
  //   instance i-0abc: timeout of 5m reached after 9 attempts in 5m; last
  //       poll: not ready: CREATING
  absl::Status status;

  // Number of finished polls.
  int64_t attempts = 0;

  // Returns the number of polls that found `found`.
  int64_t count(PollStatus found) const {
    return counts[static_cast<size_t>(found)];
  }
  // Number of polls for each status, in the order of `PollStatus`.
  std::array<int64_t, 5> counts = {};

  // Time from the start of the wait to its end, status function and hooks
  // included. Exact if the wait slept and has a deadline. Otherwise exact to
  // within 10 ms, because cheaper readings of the clock are enough.
  absl::Duration elapsed;

  // Total time of sleeps, part of `elapsed`, and time of the longest poll.
  absl::Duration slept;
  absl::Duration longest_poll;

  // The last finished poll; meaningful if `attempts` is not zero.
  Poll<> last_poll;

  // The first and the last poll that found a server error, throttling or
  // failure. Unset if none.
  std::optional<Poll<>> first_error;
  std::optional<Poll<>> last_error;

  // True if the success or failure arrived after the deadline.
  bool late = false;

  // The last `WaitHooks::history_limit` polls, oldest first:
  //
  //   for (const waiter::PollRecord& poll : result.report().history) {
  //     LOG(INFO) << poll.started << " " << waiter::PollStatusName(poll.status)
  //               << ", then delayed by " << poll.delay;
  //   }
  std::vector<PollRecord> history;

  // The exception of the status function or the executor, with the reason
  // `kFailed`. Null in the blocking form, where the exception passes through to
  // the caller.
  std::exception_ptr exception;
};

// Returns one line: the reason, the numbers of polls, the times, and the status
// if it is not OK.
std::string Summary(const WaitReport& report);

// Print the name or the summary.
std::ostream& operator<<(std::ostream& out, StopReason reason);
std::ostream& operator<<(std::ostream& out, const WaitReport& report);
template <typename Sink>
void AbslStringify(Sink& sink, StopReason reason) {
  sink.Append(StopReasonName(reason));
}
template <typename Sink>
void AbslStringify(Sink& sink, const WaitReport& report) {
  sink.Append(Summary(report));
}

namespace internal {

// Returns `status` with a payload by which `LimitOf` knows `limit`.
absl::Status WithLimit(absl::Status status, StopReason limit);

// Terminates the program with a message that contains `report.status`.
[[noreturn]] void DieWithoutValue(const WaitReport& report);

}  // namespace internal

// The part of a result that does not depend on the value type. References that
// it returns are valid until the result is changed or destroyed.
class [[nodiscard]] WaitResultBase {
 public:
  // Returns whether the wait found success, in time or late without
  // `strict_deadline`.
  bool ok() const { return report_.reason == StopReason::kSuccess; }

  // Returns the event that ended the wait.
  StopReason reason() const { return report_.reason; }

  // Returns OK, or an error with the code of `reason()`; `StopReason` lists the
  // codes. If a limit ended the wait, the message names it and the last poll's
  // answer; `WaitReport::status` has the details.
  const absl::Status& status() const& { return report_.status; }
  // Returns by value, so that `wait.Wait().status()` does not dangle.
  absl::Status status() && { return std::move(report_.status); }

  const WaitReport& report() const& { return report_; }
  // By value for the same reason.
  WaitReport report() && { return std::move(report_); }

 protected:
  WaitResultBase() = default;
  explicit WaitResultBase(WaitReport&& report) : report_(std::move(report)) {}

  WaitReport report_;
};

// `T` is the type of the value of a success, or void if none. A value type:
// copyable if `T` is. Thread-compatible.
template <typename T = void>
class [[nodiscard]] WaitResult : public WaitResultBase {
 public:
  using value_type = T;

  // For drivers. Requires a value exactly when `report.reason` is `kSuccess`.
  WaitResult(WaitReport&& report, std::optional<T> value)
      : WaitResultBase(std::move(report)), value_(std::move(value)) {}

  // Return the value. If not `ok()`, terminate the program with a message that
  // contains `status()`, in every build, as `absl::StatusOr` does.
  const T& value() const& {
    RequireValue();
    return *value_;
  }
  T& value() & {
    RequireValue();
    return *value_;
  }
  T&& value() && {
    RequireValue();
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  // Returns the value or `status()`, so that a function that returns
  // `absl::StatusOr<T>` may `return wait.Wait();`. The report is lost.
  // NOLINTNEXTLINE(google-explicit-constructor): a result is a StatusOr
  operator absl::StatusOr<T>() const& {
    if (!ok()) return status();
    return *value_;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a result is a StatusOr
  operator absl::StatusOr<T>() && {
    if (!ok()) return status();
    return *std::move(value_);
  }

 private:
  template <typename F>
  friend class Waiter;

  WaitResult() = default;

  void RequireValue() const {
    if (!value_.has_value()) internal::DieWithoutValue(report_);
  }

  std::optional<T> value_;
};

// The outcome of a wait without a value. Converts to `absl::Status`.
template <>
class [[nodiscard]] WaitResult<void> : public WaitResultBase {
 public:
  using value_type = void;

  // For drivers.
  explicit WaitResult(WaitReport&& report)
      : WaitResultBase(std::move(report)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): a result is a Status
  operator absl::Status() const { return status(); }

  // There is no value to make a StatusOr of. Without these, the status of a
  // success would be converted, which terminates the program.
  template <typename U>
  operator absl::StatusOr<U>() const& = delete;
  template <typename U>
  operator absl::StatusOr<U>() && = delete;

 private:
  template <typename F>
  friend class Waiter;

  WaitResult() = default;

  std::monostate value_;
};

}  // namespace waiter

#endif  // WAITER_RESULT_H_
