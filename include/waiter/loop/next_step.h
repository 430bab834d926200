// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What `WaitLoop` tells a driver to do; wait_loop.h shows one.

#ifndef WAITER_LOOP_NEXT_STEP_H_
#define WAITER_LOOP_NEXT_STEP_H_

#include <cstdint>

#include "waiter/clock.h"

namespace waiter {

// What a driver must do next.
class NextStep {
 public:
  enum class Action : uint8_t { kPoll, kSleep, kFinish };

  static constexpr NextStep Poll() { return {Action::kPoll, {}}; }
  static constexpr NextStep SleepUntil(MonotonicTime time) {
    return {Action::kSleep, time};
  }
  static constexpr NextStep Finish() { return {Action::kFinish, {}}; }

  Action action() const { return action_; }

  // When to call `OnWake`, or earlier if a stop is requested. For `kSleep`.
  MonotonicTime wake_up() const { return wake_up_; }

 private:
  constexpr NextStep(Action action, MonotonicTime wake_up)
      : wake_up_(wake_up), action_(action) {}

  MonotonicTime wake_up_;
  Action action_;
};

}  // namespace waiter

#endif  // WAITER_LOOP_NEXT_STEP_H_
