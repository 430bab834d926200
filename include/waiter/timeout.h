// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time that a wait may take, in the units of Abseil or of the standard:
//
//   waiter::Waiter wait(GetStatus, {.timeout = absl::Minutes(5)});
//   waiter::Waiter wait(GetStatus, {.timeout = 90s});
//
// A wait that needs no other option takes the duration alone:
//
//   waiter::Waiter wait(GetStatus, absl::Seconds(30));

#ifndef WAITER_TIMEOUT_H_
#define WAITER_TIMEOUT_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>

#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

namespace internal {

template <typename T>
concept Arithmetic = std::integral<T> || std::floating_point<T>;

}  // namespace internal

// An `absl::Duration` that may be unset, used like a `std::optional`. Converts
// from `std::chrono` durations: those beyond 292 years are infinite, and one
// that is not a number is unset.
class Timeout {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `{.timeout = 90s}`
  constexpr Timeout(std::nullopt_t = std::nullopt) {}
  constexpr Timeout(absl::Duration time) : time_(time) {}
  constexpr Timeout(std::optional<absl::Duration> time) : time_(time) {}
  template <typename Rep, typename Period>
  Timeout(std::chrono::duration<Rep, Period> time) : time_(From(time)) {}
  template <internal::Arithmetic Number>
  Timeout(Number) = delete;  // A time has a unit: write absl::Seconds(5).
  // NOLINTEND(google-explicit-constructor)

  constexpr bool has_value() const { return time_.has_value(); }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr void reset() { time_.reset(); }

  // Requires `has_value()`.
  constexpr const absl::Duration& operator*() const { return *time_; }
  constexpr absl::Duration& operator*() { return *time_; }

  constexpr absl::Duration value_or(absl::Duration if_unset) const {
    return time_.value_or(if_unset);
  }

  friend bool operator==(const Timeout& a, const Timeout& b) {
    return a.time_ == b.time_;
  }

 private:
  template <typename Rep, typename Period>
  static std::optional<absl::Duration> From(
      std::chrono::duration<Rep, Period> time) {
    using Nanoseconds = std::chrono::duration<double, std::nano>;
    constexpr auto kLimit =
        static_cast<double>(std::numeric_limits<int64_t>::max());
    const double nanoseconds = Nanoseconds(time).count();
    if (nanoseconds >= kLimit) return absl::InfiniteDuration();
    if (nanoseconds <= -kLimit) return -absl::InfiniteDuration();
    if (!(nanoseconds < kLimit)) return std::nullopt;
    if constexpr (std::ratio_divide<Period, std::nano>::den == 1) {
      return absl::FromChrono(
          std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    }
    // The cast would overflow on the way.
    return absl::Nanoseconds(nanoseconds);
  }

  std::optional<absl::Duration> time_;
};

namespace internal {

template <typename T>
inline constexpr bool kIsDuration = std::same_as<T, absl::Duration>;
template <typename Rep, typename Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;

}  // namespace internal

// Whether `T` is a duration that makes a `Timeout`.
template <typename T>
concept Duration = internal::kIsDuration<T>;

}  // namespace waiter

#endif  // WAITER_TIMEOUT_H_
