// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What one poll found. A status function answers with one of five statuses,
// and may add a value, an error, a short text for people, and how long the
// server asked to be left alone:
//
//   waiter::Poll<Instance> Ask() {
//     HttpResponse got = Get("/instances/i-0abc");
//     if (got.code == 429) return waiter::Throttled("429", got.retry_after);
//     if (got.code >= 500) return waiter::ServerError(got.reason);
//     if (got.state == "FAILED") {
//       return waiter::Failed(absl::AbortedError("provisioning failed"));
//     }
//     if (got.state != "RUNNING") return waiter::NotReady(got.state);
//     return waiter::Success(ParseInstance(got.body));
//   }
// A function that has nothing to add may return `PollStatus` (poll_status.h).

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

// `Poll<>` is what one poll found; `Poll<T>` adds the value of a success.
// Values: copy and move them freely. Usually made by the functions below.
template <typename T = void>
class Poll;

template <>
class Poll<void> {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return PollStatus::kNotReady`
  Poll(PollStatus status = PollStatus::kNotReady) : status_(status) {}

  // `error` is kept for the report; `detail()` is then its message. A status
  // other than success with an OK `error` is a contradiction and becomes
  // `kFailed` with an error that says so, as polling on would hide a defect.
  Poll(PollStatus status, absl::Status error, absl::Duration retry_after = {});

  // Copies `detail`; allocates only beyond 15 characters.
  Poll(PollStatus status, std::string_view detail,
       absl::Duration retry_after = {});

  PollStatus status() const { return status_; }

  // OK unless the status function gave an error.
  const absl::Status& error() const { return error_; }

  // A short text for people, such as "CREATING"; may be empty.
  std::string_view detail() const;

  // How long the server asked not to be polled. Zero or less: it did not ask.
  absl::Duration retry_after() const { return retry_after_; }

  // For drivers: whether there is more than a status, and to change that alone.
  bool has_details() const {
    return !detail_.empty() || !error_.ok() || retry_after_ != absl::Duration();
  }
  void set_status(PollStatus status) { status_ = status; }

 private:
  std::string detail_;
  absl::Status error_;
  absl::Duration retry_after_;
  PollStatus status_;
};

template <typename T>
class Poll : public Poll<void> {
 public:
  using value_type = T;

  // Any status but success, which must bring a value: a success without one
  // becomes `kFailed` with `kInternal`.
  // NOLINTNEXTLINE(google-explicit-constructor): `return NotReady()`
  Poll(Poll<void> outcome) : Poll<void>(std::move(outcome)) {
    if (status() == PollStatus::kSuccess) RejectSuccessWithoutValue();
  }
  // NOLINTNEXTLINE(google-explicit-constructor): `return PollStatus::kNotReady`
  Poll(PollStatus status) : Poll(Poll<void>(status)) {}

  // A success.
  Poll(std::in_place_t, T value, std::string_view detail = {})
      : Poll<void>(PollStatus::kSuccess, detail), value_(std::move(value)) {}

  // From a poll of a convertible type, as `Success("text")` is.
  template <typename U>
  requires(!std::is_void_v<U> && !std::same_as<U, T> &&
           std::constructible_from<T, U>)
      // NOLINTNEXTLINE(google-explicit-constructor): see above
      Poll(Poll<U> other)
      : Poll<void>(other) {
    if (other.has_value()) value_.emplace(std::move(other).value());
  }

  // True exactly for a success.
  bool has_value() const { return value_.has_value(); }

  // Requires `has_value()`.
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

// The answers of a status function. `retry_after` is the server's own hint.
inline Poll<> Success() { return PollStatus::kSuccess; }

template <typename T>
Poll<std::decay_t<T>> Success(T&& value, std::string_view detail = {}) {
  return {std::in_place, std::forward<T>(value), detail};
}

Poll<> NotReady(std::string_view detail = {}, absl::Duration retry_after = {});
Poll<> NotReady(absl::Status error, absl::Duration retry_after = {});

Poll<> Throttled(std::string_view detail = {}, absl::Duration retry_after = {});
Poll<> Throttled(absl::Status error, absl::Duration retry_after = {});

Poll<> ServerError(std::string_view detail = {},
                   absl::Duration retry_after = {});
Poll<> ServerError(absl::Status error, absl::Duration retry_after = {});

// The wait ends with `error`, its code and message unchanged; with a text
// alone the code is `kUnknown`.
Poll<> Failed(absl::Status error);
Poll<> Failed(std::string_view detail = {});

}  // namespace waiter

#endif  // WAITER_POLL_H_
