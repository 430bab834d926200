// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A delay rule of your own, in place of the curves and hints of options.h:
//
//   options.delay_rule = [](const waiter::DelayRequest& request,
//                           absl::BitGenRef gen) {
//     if (request.elapsed > absl::Hours(1)) return absl::Minutes(1);
//     return request.computed();  // What the curves would have given.
//   };
//
// The limits of a wait, its deadline and its last poll stay as they are.

#ifndef WAITER_DELAY_RULE_H_
#define WAITER_DELAY_RULE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/poll.h"

namespace waiter {

// What a rule may look at, after a poll that was neither success nor failure.
struct DelayRequest {
  // What the poll found, the server's `retry_after` included.
  const Poll<>& found;

  // Polls so far, at least 1.
  int64_t attempt;

  // Since the start of the wait, and until its deadline (above zero, infinite
  // without one).
  absl::Duration elapsed;
  absl::Duration remaining;

  // Returns what would be slept without the rule, before it is fitted to the
  // deadline. Draws from the generator, and advances the curves, when called.
  absl::FunctionRef<absl::Duration()> computed;
};

// Returns the delay before the next poll, or nullopt to end the wait
// (`StopReason::kDelayRule`). An answer below zero or infinite, as arithmetic
// with not-a-number gives, is replaced by `computed()`. Waits on several
// threads call the same rule, so it must be safe to call concurrently; what it
// must remember of one wait has to be in the request.
using DelayRule = std::function<std::optional<absl::Duration>(
    const DelayRequest& request, absl::BitGenRef gen)>;

}  // namespace waiter

#endif  // WAITER_DELAY_RULE_H_
