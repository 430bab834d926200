// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The result and the argument of a status function. The result is the answer of
// one poll, `Poll<T>`: one of five statuses, and optionally a value, an error,
// a short text for people, and how long the server asked not to be polled
// (`retry_after`):
//
//   waiter::Poll<Instance> GetStatus() {
//     HttpResponse got = Get("/instances/i-0abc");
//     if (got.code == 429) return waiter::Throttled("429", got.retry_after);
//     if (got.code >= 500) return waiter::ServerError(got.reason);
//     if (got.state == "FAILED") {
//       return waiter::Failed(absl::AbortedError("provisioning failed"));
//     }
//     if (got.state != "RUNNING") return waiter::NotReady(got.state);
//     return waiter::Success(ParseInstance(got.body));
//   }
//
// A wait without a value uses `Poll<>`:
//
//   waiter::Poll<> CheckDeleted() {
//     absl::Status status = client.GetBucket("logs").status();
//     if (absl::IsNotFound(status)) return waiter::Success();
//     if (status.ok()) return waiter::NotReady("still there");
//     return waiter::FromStatus(status);  // From classify.h.
//   }
//
// A function may also return a bare `PollStatus` or a `bool`; classify.h lists
// all accepted types, and derives answers from the errors of a service. A
// function that takes a `const PollContext&` gets the number, the deadline and
// the stop token of the current poll.

#ifndef WAITER_POLL_H_
#define WAITER_POLL_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"
#include "waiter/version.h"

namespace waiter {

// The outcome of one poll. A status function that has nothing to add returns a
// bare `PollStatus`:
//
//   waiter::Waiter wait_for_file(
//       [&] {
//         return std::filesystem::exists(path)
//                    ? waiter::PollStatus::kSuccess
//                    : waiter::PollStatus::kNotReady;
//       },
//       {.timeout = absl::Seconds(30)});
//
// Ordered from healthy to hopeless. After `kNotReady`, `kThrottled` and
// `kServerError` the wait continues. Each of them has its own backoff, and an
// answer restarts the backoffs of all statuses that are worse. Any other number
// ends the wait as `kFailed`, with a kInternal error.
enum class PollStatus : uint8_t {
  // The condition is met. Ends the wait, unless the options ask for the
  // condition to hold (`WaitOptions::confirm`).
  kSuccess,

  // The condition is not met yet. Delays by `WaitOptions::backoff`.
  kNotReady,

  // The server asked for less traffic. Delays by
  // `ErrorOptions::throttled_backoff`, and at least as long as after
  // `kNotReady`.
  kThrottled,

  // This poll got no usable answer, for example because of a server error or a
  // timeout; another one may. Delays by `ErrorOptions::server_error_backoff`.
  kServerError,

  // The condition will never be met. Ends the wait immediately.
  kFailed,
};

// Returns "success", "not ready", "throttled", "server error" or "failed", and
// "unknown status" for any other number.
std::string_view PollStatusName(PollStatus status);

// Print the name.
std::ostream& operator<<(std::ostream& out, PollStatus status);
template <typename Sink>
void AbslStringify(Sink& sink, PollStatus status) {
  sink.Append(PollStatusName(status));
}

// `Poll<>` is an answer without a value; `Poll<T>` adds the value of a success.
// Both are value types, thread-compatible, and usually made by the functions at
// the end of this header.
template <typename T = void>
class Poll;

template <>
class Poll<void> {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return PollStatus::kNotReady`
  Poll(PollStatus status = PollStatus::kNotReady) : status_(status) {}

  // Keeps `error` for the report; `detail()` is then its message. A status
  // other than success with an OK `error` becomes `kFailed` with a kInternal
  // error, because continuing would hide a defect.
  Poll(PollStatus status, absl::Status error, Duration retry_after = {});

  // Copies `detail`. Allocates only if it is longer than 15 characters.
  Poll(PollStatus status, std::string_view detail, Duration retry_after = {});

  PollStatus status() const { return status_; }

  // Returns the error of the status function, or OK if it gave none.
  const absl::Status& error() const { return error_; }

  // Returns a short text for people, such as "CREATING"; may be empty. Error
  // messages and logs show it. The view is valid until this object changes.
  std::string_view detail() const;

  // Returns how long the server asked not to be polled, counted from the end of
  // this poll. Zero, negative and infinite durations are ignored.
  // `RetryAfterOptions` says how it combines with the computed delay.
  absl::Duration retry_after() const {
    return sets_delay_ ? absl::ZeroDuration() : delay_;
  }

  // Returns the delay that `TryAgainAfter` set, or nullopt.
  std::optional<absl::Duration> next_delay() const {
    if (!sets_delay_ || status_ != PollStatus::kNotReady) return std::nullopt;
    return delay_;
  }

  // If this is "not ready", returns it with the delay of `TryAgainAfter`
  // instead of a `retry_after`, otherwise unchanged.
  Poll WithNextDelay(Duration delay) &&;

  // For drivers: returns whether there is more than a status.
  bool has_details() const {
    return !detail_.empty() || !error_.ok() || delay_ != absl::Duration() ||
           sets_delay_;
  }

  // For drivers: replaces the status and leaves the rest as it is.
  void set_status(PollStatus status) { status_ = status; }

 private:
  std::string detail_;
  absl::Status error_;
  absl::Duration delay_;  // The `retry_after`, unless `sets_delay_`.
  PollStatus status_;
  bool sets_delay_ = false;
};

namespace internal {

// Whether a value of type `U` converts to `T`. A number does not convert to a
// container, although it constructs one.
template <typename U, typename T>
concept ValueFor = !std::is_void_v<U> && !std::same_as<U, T> &&
                   std::constructible_from<T, U> &&
                   (std::convertible_to<U, T> || !std::is_arithmetic_v<U>);

}  // namespace internal

// An answer with a value of type `T` exactly when the status is success. `T`
// must be movable.
template <typename T>
class Poll : public Poll<void> {
 public:
  using value_type = T;

  // For every status except success, which needs a value: a success without one
  // becomes `kFailed` with a kInternal error.
  // NOLINTNEXTLINE(google-explicit-constructor): `return NotReady()`
  Poll(Poll<void> outcome) : Poll<void>(std::move(outcome)) {
    if (status() == PollStatus::kSuccess) RejectSuccessWithoutValue();
  }
  // NOLINTNEXTLINE(google-explicit-constructor): `return PollStatus::kNotReady`
  Poll(PollStatus status) : Poll(Poll<void>(status)) {}

  // As above, with an error or a text, which may be empty.
  Poll(PollStatus status, absl::Status error, Duration retry_after = {})
      : Poll(Poll<void>(status, std::move(error), retry_after)) {}
  Poll(PollStatus status, std::string_view detail, Duration retry_after = {})
      : Poll(Poll<void>(status, detail, retry_after)) {}

  // Makes a success.
  Poll(std::in_place_t, T value, std::string_view detail = {})
      : Poll<void>(PollStatus::kSuccess, detail), value_(std::move(value)) {}

  // Converts an answer with a value of another type, so that a function that
  // returns `Poll<std::string>` may `return Success("text")`.
  template <internal::ValueFor<T> U>
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Poll(Poll<U> other) : Poll<void>(other) {
    if (other.has_value()) value_.emplace(std::move(other).value());
  }
  // Any other value would be lost.
  template <typename U>
  requires(!std::is_void_v<U> && !std::same_as<U, T> &&
           !internal::ValueFor<U, T>)
      // NOLINTNEXTLINE(google-explicit-constructor): see above
      Poll(Poll<U> other)
  = delete;

  // Returns true exactly for a success.
  bool has_value() const { return value_.has_value(); }

  // Returns the value. Requires `has_value()`.
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }

 private:
  void RejectSuccessWithoutValue() {
    static_cast<Poll<void>&>(*this) =
        Poll<void>(PollStatus::kFailed,
                   absl::InternalError("a success came without a value"));
  }

  std::optional<T> value_;
};

// Functions that make answers. An `error` must not be OK; otherwise the answer
// is `kFailed` with a kInternal error. classify.h reads `retry_after` from
// the headers of a response.

// The condition is met.
inline Poll<> Success() { return PollStatus::kSuccess; }

// The condition is met, and `value` is the result of the wait.
template <typename T>
Poll<std::decay_t<T>> Success(T&& value, std::string_view detail = {}) {
  return {std::in_place, std::forward<T>(value), detail};
}

// The condition is not met yet.
Poll<> NotReady(std::string_view detail = {}, Duration retry_after = {});
Poll<> NotReady(absl::Status error, Duration retry_after = {});

// The condition is not met yet, and the next poll begins after `delay`, but not
// before `BackoffOptions::min_delay`. The backoff, which restarts, and a
// `DelaySource` are not used; budgets, notifications and the deadline still
// apply. Zero suits a server that holds each request for a while. A negative or
// infinite delay is ignored.
Poll<> TryAgainAfter(Duration delay, std::string_view detail = {});

// The server asked for less traffic.
Poll<> Throttled(std::string_view detail = {}, Duration retry_after = {});
Poll<> Throttled(absl::Status error, Duration retry_after = {});

// This poll got no usable answer, for example because of a server error or a
// timeout; another one may.
Poll<> ServerError(std::string_view detail = {}, Duration retry_after = {});
Poll<> ServerError(absl::Status error, Duration retry_after = {});

// The condition will never be met. The wait ends with the code, message and
// payloads of `error`; with only a text, the code is kUnknown. The name of the
// wait, attempts and time follow the message:
//
//   UNKNOWN: vm FAILED (instance i-0abc, after 3 attempts in 12s)
Poll<> Failed(absl::Status error);
Poll<> Failed(std::string_view detail = {});

// Facts about the current poll, for status functions that take a `const
// PollContext&`. Waiter cannot interrupt a poll that hangs, so pass the poll's
// deadline to the call that it makes:
//
//   waiter::Waiter wait([&](const waiter::PollContext& context) {
//     return client.GetStatus({.deadline = context.deadline});
//   }, options);
//
// A slow poll should check the stop token:
//
//   [&](const waiter::PollContext& context) -> waiter::Poll<> {
//     for (const Part& part : parts) {
//       if (context.stop_token.stop_requested()) return waiter::NotReady();
//       if (!Verify(part)) return waiter::NotReady(part.name);
//     }
//     return waiter::Success();
//   }
//
// A status function gets a reference that is valid only during the call; code
// that continues after the call must copy the fields it needs. Times are
// measured at the start of the poll, with the clock of the wait. A wait whose
// function takes a context reads the wall clock once for each poll.
struct PollContext {
  // Ordinal of this poll, counted from 1.
  int64_t attempt = 1;

  // Time since the start of the wait.
  absl::Duration elapsed = absl::ZeroDuration();

  // Time until the deadline of the wait. Never negative; infinite if the wait
  // has no deadline.
  absl::Duration remaining = absl::InfiniteDuration();

  // Time that this poll may take: the shorter of `WaitOptions::poll_timeout`
  // and `remaining`, which `EdgePollOptions::last_timeout` may lengthen. When
  // nothing remains, as for the last poll at the deadline, it is
  // `last_timeout`, or, if that is zero, `poll_timeout`. If that is infinite,
  // it is twice the longest poll so far, at least 1 s and at most 10 s. A late
  // success of that poll still counts. Finite if the wait has a deadline. May
  // be below 1 ms: round it up for a client that takes whole milliseconds, with
  // zero as no limit.
  absl::Duration timeout = absl::InfiniteDuration();

  // End of `timeout` on the wall clock, for calls that take a deadline. If a
  // call runs out of time but may work the next time, answer
  // `ServerError(status)`; `FromStatus` would turn its kDeadlineExceeded into a
  // failure.
  absl::Time deadline = absl::InfiniteFuture();

  // Requested when the wait is cancelled, when its handle or its engine is
  // destroyed, and when an engine gives up waiting for the answer. A poll that
  // stops early because of it should answer anything except success and
  // failure; the wait then ends as cancelled, or as shut down.
  waiter::stop_token stop_token = {};

  // `WaitIdentity::id` of the wait, as observers get it; 0 without an observer.
  uint64_t wait_id = 0;

  // Status that the previous poll found; unset for the first one.
  std::optional<PollStatus> last_status = std::nullopt;
};

}  // namespace waiter

#endif  // WAITER_POLL_H_
