// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time of a simulation, in which functions are called:
//
//   waiter::sim::VirtualClock clock;
//   clock.CallAt(clock.MonotonicNow() + std::chrono::seconds(5), [&] { ... });
//   clock.Advance(absl::Minutes(1));  // Makes the call, at 5 s.
//
// `SimulatedClock` (waiter/testing/simulated_clock.h) can do more, for tests
// with threads. This one is faster, and is not test code.

#ifndef WAITER_CLI_SIM_VIRTUAL_CLOCK_H_
#define WAITER_CLI_SIM_VIRTUAL_CLOCK_H_

#include <chrono>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter::sim {

// For one thread. A call costs log2(pending calls) comparisons.
class VirtualClock final : public Clock {
 public:
  using Function = std::function<void()>;

  VirtualClock() = default;
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  // Calls `function` once when the time is `time`, or, if that has passed, in
  // the next move of the clock. Calls of one time are made in the order in
  // which they were added.
  void CallAt(MonotonicTime time, Function function);

  // Returns `CallAt` of `clock` as a function.
  static std::function<void(MonotonicTime, Function)> CallAtOf(
      VirtualClock& clock) {
    return [&clock](MonotonicTime time, Function function) {
      clock.CallAt(time, std::move(function));
    };
  }

  // Moves the time, and makes the calls on the way at their times, including
  // calls that other calls add. Must not be called in a call.
  void Advance(absl::Duration duration);

  // Returns the time since this clock was made.
  absl::Duration Elapsed() const { return absl::FromChrono(now_ - kStart); }

  absl::Time TimeNow() override { return absl::UnixEpoch() + Elapsed(); }
  MonotonicTime MonotonicNow() override { return now_; }
  // Advances to `wake_up`.
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override;

 private:
  static constexpr MonotonicTime kStart{std::chrono::hours(1000)};

  void MoveTo(MonotonicTime time);

  MonotonicTime now_ = kStart;
  std::multimap<MonotonicTime, Function> calls_;
};

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_VIRTUAL_CLOCK_H_
