// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The instruction that `WaitLoop` (loop/wait_loop.h) gives to a driver. A
// driver carries it out and calls the loop again:
//
//   switch (step.action()) {
//     case waiter::NextStep::Action::kPoll:
//       report.last_poll = GetStatus();
//       step = loop.OnPoll(clock.MonotonicNow(), gen, stop_requested);
//       break;
//     case waiter::NextStep::Action::kSleep:
//       clock.SleepUntil(step.wake_up(), stop_token, "my driver");
//       step = loop.OnWake(clock.MonotonicNow(), stop_requested);
//       break;
//     case waiter::NextStep::Action::kFinish:
//       return report;
//   }

#ifndef WAITER_LOOP_NEXT_STEP_H_
#define WAITER_LOOP_NEXT_STEP_H_

#include <cstdint>

#include "waiter/clock.h"

namespace waiter {

// A value of 16 bytes. Drivers read it; only the loop and tests make one.
class NextStep {
 public:
  enum class Action : uint8_t {
    kPoll,    // Call the status function, then `WaitLoop::OnPoll`.
    kSleep,   // Sleep until `wake_up()`, then call `WaitLoop::OnWake`.
    kFinish,  // The report is complete; call the loop no more.
  };

  static constexpr NextStep Poll() { return {Action::kPoll, {}}; }
  static constexpr NextStep SleepUntil(MonotonicTime time) {
    return {Action::kSleep, time};
  }
  static constexpr NextStep Finish() { return {Action::kFinish, {}}; }

  Action action() const { return action_; }

  // Returns the end of a sleep, which a request to stop may cut short.
  // `MonotonicTime::max()` means a sleep that only a request ends. Meaningful
  // for `kSleep` only.
  MonotonicTime wake_up() const { return wake_up_; }

 private:
  constexpr NextStep(Action action, MonotonicTime wake_up)
      : wake_up_(wake_up), action_(action) {}

  MonotonicTime wake_up_;
  Action action_;
};

}  // namespace waiter

#endif  // WAITER_LOOP_NEXT_STEP_H_
