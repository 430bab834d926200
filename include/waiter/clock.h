// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Interface through which waits read time and sleep. Production code uses the
// real clock, which is the default. Tests inject a `SimulatedClock`
// (testing/simulated_clock.h):
//
//   waiter::SimulatedClock clock;
//   waiter::Waiter wait(GetStatus, {.timeout = absl::Hours(10),
//                                   .clock = &clock});
//
// A sleep that a stop request can end, on any clock:
//
//   waiter::Clock& clock = waiter::GetRealClock();
//   clock.SleepUntil(clock.MonotonicNow() + absl::Seconds(10), stop_token,
//                    "cleanup");
//
// Names follow `absl::Clock` (Abseil 20260526 and newer) where they fit. That
// class measures wall-clock time, so a step of the wall clock would lengthen or
// shorten a wait. This one adds a monotonic scale, and waits use only that.

#ifndef WAITER_CLOCK_H_
#define WAITER_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/stop_token.h"
#include "waiter/version.h"

namespace waiter {

namespace internal {

template <typename T>
concept Arithmetic = std::integral<T> || std::floating_point<T>;

// Durations beyond 292 years become infinite, and NaN becomes
// `-absl::InfiniteDuration()`, which is outside every option's range.
template <typename Rep, typename Period>
absl::Duration FromChrono(std::chrono::duration<Rep, Period> time) {
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  constexpr auto kLimit =
      static_cast<double>((std::numeric_limits<int64_t>::max)());
  const double nanoseconds = Nanoseconds(time).count();
  if (nanoseconds >= kLimit) return absl::InfiniteDuration();
  if (!(nanoseconds > -kLimit)) return -absl::InfiniteDuration();
  if constexpr (std::ratio_divide<Period, std::nano>::den == 1) {
    return absl::FromChrono(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time));
  }
  // The cast's intermediate value would overflow.
  return absl::Nanoseconds(nanoseconds);
}

template <typename T>
inline constexpr bool kIsDuration = std::derived_from<T, absl::Duration>;
template <typename Rep, typename Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;

template <typename T>
concept IsDuration = kIsDuration<T>;

}  // namespace internal

// The type of durations in options and parameters: an `absl::Duration` that
// also converts from `std::chrono` durations.
//
//   waiter::BackoffOptions backoff = {.initial_delay = absl::Milliseconds(200),
//                                     .max_delay = 30s};
//   absl::Duration max_delay = backoff.max_delay;
//
// `std::chrono` durations beyond 292 years are infinite, and NaN is
// `-absl::InfiniteDuration()`.
class Duration : public absl::Duration {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `{.poll_timeout = 5s}`
  constexpr Duration() = default;
  constexpr Duration(absl::Duration time) : absl::Duration(time) {}
  template <typename Rep, typename Period>
  constexpr Duration(std::chrono::duration<Rep, Period> time)
      : absl::Duration(internal::FromChrono(time)) {}
  template <internal::Arithmetic Number>
  Duration(Number) = delete;  // A time has a unit: write absl::Seconds(5).
  // NOLINTEND(google-explicit-constructor)
};

// A `Duration` that may be unset, used like a `std::optional`. A NaN
// `std::chrono` duration is unset.
class OptionalDuration {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `{.timeout = 90s}`
  constexpr OptionalDuration(std::nullopt_t = std::nullopt) {}
  constexpr OptionalDuration(absl::Duration time) : time_(time) {}
  constexpr OptionalDuration(std::optional<absl::Duration> time)
      : time_(time) {}
  template <typename Rep, typename Period>
  constexpr OptionalDuration(std::chrono::duration<Rep, Period> time) {
    // NOLINTNEXTLINE(misc-redundant-expression): false for not-a-number
    if (time == time) time_ = internal::FromChrono(time);
  }
  template <internal::Arithmetic N>
  OptionalDuration(N) = delete;  // A time has a unit: write absl::Seconds(5).
  // NOLINTEND(google-explicit-constructor)

  constexpr bool has_value() const { return time_.has_value(); }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr void reset() { time_.reset(); }

  // Requires `has_value()`.
  constexpr const absl::Duration& operator*() const { return *time_; }
  constexpr absl::Duration& operator*() { return *time_; }

  constexpr absl::Duration value_or(Duration if_unset) const {
    return time_.value_or(if_unset);
  }

  friend bool operator==(const OptionalDuration& a, const OptionalDuration& b) {
    return a.time_ == b.time_;
  }

 private:
  std::optional<absl::Duration> time_;
};

// A point on the monotonic scale of one clock, in nanoseconds, zero or more.
// Only differences between readings of the same clock are meaningful.
// `MonotonicTime::max()` is infinitely far in the future. On the real clock,
// times come from `std::chrono::steady_clock::now()`. `std::chrono` and Abseil
// durations can be added and subtracted:
//
//   waiter::MonotonicTime later = clock.MonotonicNow() + absl::Seconds(5);
//
// `absl::Duration`s beyond 292 years count as that long; the sum must not
// overflow.
class MonotonicTime : public std::chrono::steady_clock::time_point {
 public:
  using Base = std::chrono::steady_clock::time_point;

  constexpr MonotonicTime() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `steady_clock::now()`
  constexpr MonotonicTime(Base time) : Base(time) {}
  constexpr explicit MonotonicTime(std::chrono::nanoseconds time)
      : Base(time) {}

  static constexpr MonotonicTime(min)() { return (Base::min)(); }
  static constexpr MonotonicTime(max)() { return (Base::max)(); }

  template <typename Rep, typename Period>
  friend constexpr MonotonicTime operator+(
      MonotonicTime time, std::chrono::duration<Rep, Period> delay) {
    return static_cast<Base>(time) + delay;
  }
  template <typename Rep, typename Period>
  friend constexpr MonotonicTime operator+(
      std::chrono::duration<Rep, Period> delay, MonotonicTime time) {
    return time + delay;
  }
  template <typename Rep, typename Period>
  friend constexpr MonotonicTime operator-(
      MonotonicTime time, std::chrono::duration<Rep, Period> delay) {
    return static_cast<Base>(time) - delay;
  }
  friend MonotonicTime operator+(MonotonicTime time, absl::Duration delay) {
    return time + absl::ToChronoNanoseconds(delay);
  }
  friend MonotonicTime operator+(absl::Duration delay, MonotonicTime time) {
    return time + delay;
  }
  friend MonotonicTime operator-(MonotonicTime time, absl::Duration delay) {
    return time - absl::ToChronoNanoseconds(delay);
  }

  using Base::operator+=;
  using Base::operator-=;
  MonotonicTime& operator+=(absl::Duration delay) {
    return *this = *this + delay;
  }
  MonotonicTime& operator-=(absl::Duration delay) {
    return *this = *this - delay;
  }
};

// Returns `time + delay`, or `MonotonicTime::max()` if that would overflow.
// `delay` must not be negative. `time` may be negative, because a saved wait
// can have begun before this process's clock.
constexpr MonotonicTime SaturatingAdd(MonotonicTime time,
                                      std::chrono::nanoseconds delay) {
  return delay > (MonotonicTime::max)() - (std::max)(time, MonotonicTime())
             ? (MonotonicTime::max)()
             : time + delay;
}

// Implementations must be safe to call from any number of threads. A clock must
// outlive every wait and engine that uses it.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the wall-clock time. Waits use it to show times to people, and to
  // place an absolute deadline on the monotonic scale, once per wait.
  virtual absl::Time TimeNow() = 0;

  // Returns a time that never steps back. On Linux, the real clock does not
  // advance while the machine is suspended, so a suspension extends a wait;
  // `GetBootTimeClock()` advances.
  virtual MonotonicTime MonotonicNow() = 0;

  // Maximum age of `MonotonicNowBefore`'s readings, on every clock.
  static constexpr std::chrono::milliseconds kMaxReadingAge{10};

  // Returns `MonotonicNow()`, or a cheaper reading if the time is certainly
  // before `limit`. On the real clock the cheaper reading costs an eighth of
  // the exact one.
  virtual MonotonicTime MonotonicNowBefore(MonotonicTime /*limit*/) {
    return MonotonicNow();
  }

  // Blocks until `wake_up` or until `stop` is requested, whichever comes first.
  // A request at any moment, even before the call, ends the sleep within
  // microseconds; none is lost. If `wake_up` has passed, returns immediately
  // without entering the kernel. `who` names the sleeper in diagnostics, such
  // as the list that a stalled `SimulatedClock` prints; it must stay valid
  // until the call returns.
  virtual void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                          std::string_view who) = 0;
};

// Returns the clock of this machine, which is never destroyed. A sleep on it is
// as exact as `std::condition_variable::wait_until` and never ends early.
// Setting the wall clock, forward or back, does not change when a sleep ends.
Clock& GetRealClock();

// Returns a clock that counts the time during which the machine is suspended,
// for waits whose limits include that time:
//
//   waiter::Waiter wait(GetStatus, {.timeout = absl::Hours(8),
//                                   .clock = &waiter::GetBootTimeClock()});
//
// A sleep that should end during a suspension ends within a second after it,
// because sleeping threads wake every second. The time comes from
// `CLOCK_BOOTTIME` where there is one, as on Linux, and from
// `std::chrono::steady_clock` elsewhere, which counts suspensions on macOS and
// Windows. This clock's times differ from the real clock's; it has no cheaper
// readings. Never destroyed.
Clock& GetBootTimeClock();

}  // namespace waiter

#endif  // WAITER_CLOCK_H_
