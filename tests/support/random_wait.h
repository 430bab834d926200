// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One wait with random options, answers, poll times, late timers and stop
// requests, driven straight through a `WaitLoop` and held against what every
// wait promises.

#ifndef WAITER_TESTS_SUPPORT_RANDOM_WAIT_H_
#define WAITER_TESTS_SUPPORT_RANDOM_WAIT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"

namespace waiter {

// Everything that may differ between waits comes from `choose`, which answers
// with any number.
struct RandomWait {
  // What happened, one event a line. Equal choices give equal lines.
  std::string timeline;

  // Name of the reason that ended it.
  std::string reason;

  // The first promise that was not kept; empty if all were.
  std::string broken;
};
RandomWait RunRandomWait(absl::FunctionRef<uint64_t()> choose);

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_RANDOM_WAIT_H_
