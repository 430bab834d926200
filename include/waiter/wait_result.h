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
// testing/wait_result_matchers.h has gMock matchers for it.

#ifndef WAITER_WAIT_RESULT_H_
#define WAITER_WAIT_RESULT_H_

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/wait_report.h"

namespace waiter {

namespace internal {

// Terminates the program with a message that has `report.status`.
[[noreturn]] void DieWithoutValue(const WaitReport& report);

}  // namespace internal

// The part of a result that does not depend on the value type. References that
// it returns are valid until the result is changed or destroyed.
class [[nodiscard]] WaitResultBase {
 public:
  // Returns true exactly if the wait found success in time, or late without
  // `strict_deadline`.
  bool ok() const { return report_.reason == StopReason::kSuccess; }

  // Returns the event that ended the wait.
  StopReason reason() const { return report_.reason; }

  // Returns OK, or an error with the code of `reason()`; `StopReason` lists the
  // codes. If a limit ended the wait, the message names it and what the last
  // poll found; `WaitReport::status` has the details.
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

// `T` is the type of the value of a success, or void if there is none. A value
// type: copyable if `T` is. Thread-compatible.
template <typename T = void>
class [[nodiscard]] WaitResult : public WaitResultBase {
 public:
  using value_type = T;

  // For drivers. Requires a value exactly if `report.reason` is `kSuccess`.
  WaitResult(WaitReport&& report, std::optional<T> value)
      : WaitResultBase(std::move(report)), value_(std::move(value)) {}

  // Return the value. If not `ok()`, terminate the program with a message that
  // has `status()`, in every build, as `absl::StatusOr` does.
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

// The outcome of a wait that brings no value. Converts to `absl::Status`.
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
  // success would become one, which terminates the program.
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

#endif  // WAITER_WAIT_RESULT_H_
