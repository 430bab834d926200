// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Where a wait gets its time from, and how it sleeps. Production code never
// names a clock; tests put a `SimulatedClock` (testing/simulated_clock.h) in
// its place:
//
//   waiter::SimulatedClock clock;
//   waiter::Waiter wait(AskServer, {.timeout = absl::Hours(10),
//                                   .clock = &clock});
//
// Names follow `absl::Clock` (Abseil 20260526 and newer) where they fit. That
// class measures time by the wall, so a step of the wall clock would stretch
// or cut a wait; this one adds a monotonic scale and measures only by it.

#ifndef WAITER_CLOCK_H_
#define WAITER_CLOCK_H_

#include <chrono>
#include <stop_token>
#include <string_view>

#include "absl/time/time.h"

namespace waiter {

// A point on the monotonic scale of one clock, in nanoseconds from zero on.
// Infinitely far ahead is `MonotonicTime::max()`. Only differences have a
// meaning.
using MonotonicTime = std::chrono::steady_clock::time_point;

// Returns `time + delay`, or `MonotonicTime::max()` where that would overflow.
// Requires neither to be negative.
constexpr MonotonicTime SaturatingAdd(MonotonicTime time,
                                      std::chrono::nanoseconds delay) {
  return delay > MonotonicTime::max() - time ? MonotonicTime::max()
                                             : time + delay;
}

// Implementations must be safe to use from any number of threads.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the wall-clock time: for people, and to place an absolute deadline
  // on the monotonic scale once.
  virtual absl::Time TimeNow() = 0;

  // Returns a time that never steps back. On the real clock this does not
  // advance while the machine is suspended, so suspension extends a wait.
  virtual MonotonicTime MonotonicNow() = 0;

  // Returns `MonotonicNow()`, or, if that is surely before `limit`, a reading
  // that may be up to 10 ms old and costs an eighth on the real clock.
  virtual MonotonicTime MonotonicNowBefore(MonotonicTime /*limit*/) {
    return MonotonicNow();
  }

  // Blocks until `wake_up` or until `stop` is requested, whichever is first; a
  // request made at any moment, also before the call, ends it within
  // microseconds. Returns at once, without entering the kernel, if `wake_up`
  // has passed. `who` says for people what is being waited for.
  virtual void SleepUntil(MonotonicTime wake_up, const std::stop_token& stop,
                          std::string_view who) = 0;
};

// Returns the clock of this machine, which lives for ever. A sleep on it is as
// exact as `std::condition_variable::wait_until`, and never ends early.
Clock& GetRealClock();

}  // namespace waiter

#endif  // WAITER_CLOCK_H_
