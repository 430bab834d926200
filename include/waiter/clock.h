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
//   clock.SleepUntil(waiter::SaturatingAdd(clock.MonotonicNow(),
//                                          std::chrono::seconds(10)),
//                    stop_token, "cleanup");
//
// Names follow `absl::Clock` (Abseil 20260526 and newer) where they fit. That
// class measures wall-clock time, so a step of the wall clock would stretch or
// cut a wait. This one adds a monotonic scale, and waits measure only on it.

#ifndef WAITER_CLOCK_H_
#define WAITER_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/stop_token.h"
#include "waiter/version.h"

namespace waiter {

// A point on the monotonic scale of one clock, in nanoseconds, zero or more.
// Only differences between readings of the same clock have a meaning.
// `MonotonicTime::max()` is infinitely far in the future. On the real clock,
// times are those of `std::chrono::steady_clock::now()`.
using MonotonicTime = std::chrono::steady_clock::time_point;

// Returns `time + delay`, or `MonotonicTime::max()` if that would overflow.
// Requires `delay` not to be negative. `time` may be, as a wait that was saved
// can have begun before the clock of this process.
constexpr MonotonicTime SaturatingAdd(MonotonicTime time,
                                      std::chrono::nanoseconds delay) {
  return delay > MonotonicTime::max() - std::max(time, MonotonicTime())
             ? MonotonicTime::max()
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

  // Returns a time that never steps back. The real clock does not advance while
  // the machine is suspended, so a suspension extends a wait.
  virtual MonotonicTime MonotonicNow() = 0;

  // Greatest age of a cheaper reading, on every clock.
  static constexpr std::chrono::milliseconds kMaxReadingAge{10};

  // Returns `MonotonicNow()`, or a cheaper reading if the time is certainly
  // before `limit`. On the real clock the cheaper reading costs an eighth of
  // the exact one.
  virtual MonotonicTime MonotonicNowBefore(MonotonicTime /*limit*/) {
    return MonotonicNow();
  }

  // Blocks until `wake_up` or until `stop` is requested, whichever comes first.
  // A request at any moment, also before the call, ends the sleep within
  // microseconds; none is lost. If `wake_up` has passed, returns at once
  // without entering the kernel. `who` names the sleeper in diagnostics, such
  // as the list that a stalled `SimulatedClock` prints; it must stay valid
  // until the call returns.
  virtual void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                          std::string_view who) = 0;
};

// Returns the clock of this machine, which is never destroyed. A sleep on it is
// as exact as `std::condition_variable::wait_until` and never ends early.
Clock& GetRealClock();

}  // namespace waiter

#endif  // WAITER_CLOCK_H_
