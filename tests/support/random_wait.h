// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs one wait with random options, answers, poll times, late timers and stop
// requests through a `WaitLoop`, and checks the promises of every wait.

#ifndef WAITER_TESTS_SUPPORT_RANDOM_WAIT_H_
#define WAITER_TESTS_SUPPORT_RANDOM_WAIT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"

namespace waiter {

// Result of a wait. `choose`, which returns any number, decides everything that
// may differ between waits.
struct RandomWait {
  // The events, one a line. Equal choices give equal lines.
  std::string timeline;

  // Name of the reason for the end.
  std::string reason;

  // The first promise that was broken; empty if the wait kept all.
  std::string broken;
};
RandomWait RunRandomWait(absl::FunctionRef<uint64_t()> choose);

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_RANDOM_WAIT_H_
