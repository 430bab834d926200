// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs an event loop until a condition holds:
//
//   ASSERT_TRUE(RunUntil(loop, [&] { return answered; }));

#ifndef WAITER_TESTS_SUPPORT_RUN_UNTIL_H_
#define WAITER_TESTS_SUPPORT_RUN_UNTIL_H_

#include <chrono>

#include "cli/loop/event_loop.h"
#include "waiter/clock.h"

namespace waiter::cli {

// Returns true once `done()` does. Returns false after a time that only a
// hanging test needs.
template <typename Done>
[[nodiscard]] bool RunUntil(EventLoop& loop, Done done) {
  const MonotonicTime limit =
      GetRealClock().MonotonicNow() + std::chrono::seconds(20);
  while (!done()) {
    if (GetRealClock().MonotonicNow() >= limit) return false;
    // On a simulated clock, a limit in the future would advance the time.
    loop.RunOnce(
        &loop.clock() == &GetRealClock() ? limit : loop.clock().MonotonicNow());
  }
  return true;
}

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_RUN_UNTIL_H_
