// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The answer of one poll: one of five statuses, and optionally a value, an
// error, a short text for people, and a server's hint about when to poll again:
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
// A wait that brings no value uses `Poll<>`:
//
//   waiter::Poll<> CheckDeleted() {
//     absl::Status status = client.GetBucket("logs").status();
//     if (absl::IsNotFound(status)) return waiter::Success();
//     if (status.ok()) return waiter::NotReady("still there");
//     return waiter::FromStatus(status);  // From classify.h.
//   }
//
// A function may also return `PollStatus` (poll_status.h) or `bool`;
// status_function.h lists all accepted types.

#ifndef WAITER_POLL_H_
#define WAITER_POLL_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/poll_status.h"

namespace waiter {

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
  // error, because polling on would hide a defect.
  Poll(PollStatus status, absl::Status error, absl::Duration retry_after = {});

  // Copies `detail`. Allocates only if it is longer than 15 characters.
  Poll(PollStatus status, std::string_view detail,
       absl::Duration retry_after = {});

  PollStatus status() const { return status_; }

  // Returns the error of the status function, or OK if it gave none.
  const absl::Status& error() const { return error_; }

  // Returns a short text for people, such as "CREATING"; may be empty. Error
  // messages and logs show it. The view is valid until this object changes.
  std::string_view detail() const;

  // Returns the time for which the server asked not to be polled, counted from
  // the end of this poll. Zero, negative and infinite durations are no hint.
  // `RetryAfterOptions` says how a hint and the computed delay combine.
  absl::Duration retry_after() const { return retry_after_; }

  // For drivers: returns whether there is more than a status.
  bool has_details() const {
    return !detail_.empty() || !error_.ok() || retry_after_ != absl::Duration();
  }

  // For drivers: replaces the status and leaves the rest as it is.
  void set_status(PollStatus status) { status_ = status; }

 private:
  std::string detail_;
  absl::Status error_;
  absl::Duration retry_after_;
  PollStatus status_;
};

namespace internal {

// Whether a value of type `U` converts to `T`. A number does not convert to a
// container, although it constructs one.
template <typename U, typename T>
concept ValueFor = !std::is_void_v<U> && !std::same_as<U, T> &&
                   std::constructible_from<T, U> &&
                   (std::convertible_to<U, T> || !std::is_arithmetic_v<U>);

}  // namespace internal

// An answer with a value of type `T` exactly if the status is success. `T` must
// be movable.
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
  Poll(PollStatus status, absl::Status error, absl::Duration retry_after = {})
      : Poll(Poll<void>(status, std::move(error), retry_after)) {}
  Poll(PollStatus status, std::string_view detail,
       absl::Duration retry_after = {})
      : Poll(Poll<void>(status, detail, retry_after)) {}

  // Makes a success.
  Poll(std::in_place_t, T value, std::string_view detail = {})
      : Poll<void>(PollStatus::kSuccess, detail), value_(std::move(value)) {}

  // Converts the answer with a value of another type, so that a function that
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
// is `kFailed` with a kInternal error. `retry_after` is the server's hint,
// which retry_after.h reads from the headers of a response.

// The condition is met.
inline Poll<> Success() { return PollStatus::kSuccess; }

// The condition is met, and `value` is the result of the wait.
template <typename T>
Poll<std::decay_t<T>> Success(T&& value, std::string_view detail = {}) {
  return {std::in_place, std::forward<T>(value), detail};
}

// The condition is not met yet.
Poll<> NotReady(std::string_view detail = {}, absl::Duration retry_after = {});
Poll<> NotReady(absl::Status error, absl::Duration retry_after = {});

// The server asked for less traffic.
Poll<> Throttled(std::string_view detail = {}, absl::Duration retry_after = {});
Poll<> Throttled(absl::Status error, absl::Duration retry_after = {});

// This poll got no usable answer, for example because of a server error or a
// timeout; another one may.
Poll<> ServerError(std::string_view detail = {},
                   absl::Duration retry_after = {});
Poll<> ServerError(absl::Status error, absl::Duration retry_after = {});

// The condition will never be met. The wait ends with `error`, its code and
// message unchanged; with a text alone the code is kUnknown.
Poll<> Failed(absl::Status error);
Poll<> Failed(std::string_view detail = {});

}  // namespace waiter

#endif  // WAITER_POLL_H_
