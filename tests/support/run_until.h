// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs an event loop until what is expected has happened:
//
//   ASSERT_TRUE(RunUntil(loop, [&] { return answered; }));

#ifndef WAITER_TESTS_SUPPORT_RUN_UNTIL_H_
#define WAITER_TESTS_SUPPORT_RUN_UNTIL_H_

#include <chrono>

#include "cli/loop/event_loop.h"
#include "waiter/clock.h"

namespace waiter::cli {

// Returns whether `done()` became true. Gives up after so long that only what
// hangs takes it.
template <typename Done>
[[nodiscard]] bool RunUntil(EventLoop& loop, Done done) {
  const MonotonicTime limit =
      GetRealClock().MonotonicNow() + std::chrono::seconds(20);
  while (!done()) {
    if (GetRealClock().MonotonicNow() >= limit) return false;
    // A simulated clock would jump there.
    loop.RunOnce(
        &loop.clock() == &GetRealClock() ? limit : loop.clock().MonotonicNow());
  }
  return true;
}

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_RUN_UNTIL_H_
