// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits that the tests of Asio share.

#ifndef WAITER_TESTS_INTEROP_ASIO_WAITS_H_
#define WAITER_TESTS_INTEROP_ASIO_WAITS_H_

#include "absl/time/time.h"
#include "tests/support/engine_fixture.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/waiter.h"

namespace waiter {

// Polls every millisecond, or after ten minutes.
inline WaitOptions Quick() {
  return {.timeout = absl::Hours(1), .backoff = Every(absl::Milliseconds(1))};
}
inline WaitOptions Slow() {
  return {.timeout = absl::Hours(1), .backoff = Every(absl::Minutes(10))};
}

// Returns a wait that succeeds with its `polls`th poll.
inline auto ReadyAfter(int polls) {
  return Waiter(
      [polls, made = 0]() mutable -> Poll<int> {
        if (++made < polls) return NotReady();
        return Success(made);
      },
      Quick());
}

// Returns a wait that polls once, and then sleeps until it is cancelled.
inline auto NeverReady() {
  return Waiter([] { return false; }, Slow());
}

}  // namespace waiter

#endif  // WAITER_TESTS_INTEROP_ASIO_WAITS_H_
