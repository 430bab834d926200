// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A custom delay rule, in place of the curves and hints of options.h. This one
// polls once per minute after an hour, and by the curves until then:
//
//   options.delay_rule = [](const waiter::DelayRequest& request,
//                           absl::BitGenRef gen) {
//     if (request.elapsed > absl::Hours(1)) return absl::Minutes(1);
//     return request.computed();
//   };
//
// A rule may also end the wait, here when a server says that polling is in
// vain:
//
//   [](const waiter::DelayRequest& request,
//      absl::BitGenRef gen) -> std::optional<absl::Duration> {
//     if (request.found.detail() == "PAUSED") return std::nullopt;
//     return request.computed();
//   };
//
// The limits of a wait, its deadline and its last poll apply to custom delays,
// too. A rule does not classify answers; that is the task of the status
// function.

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

// The situation after a poll that was neither success nor failure. Valid only
// during the call of the rule.
struct DelayRequest {
  // The answer of the poll, with the server's `retry_after`.
  const Poll<>& found;

  // Number of polls so far, at least 1.
  int64_t attempt;

  // Time since the start of the wait.
  absl::Duration elapsed;

  // Time until the deadline of the wait: above zero, infinite without one.
  absl::Duration remaining;

  // Returns the delay that the curves and hints of the options give, before it
  // is fitted to the deadline. The first call draws from the generator and
  // advances the curves; later ones return the same.
  absl::FunctionRef<absl::Duration()> computed;
};

// Returns the delay before the next poll, or nullopt to end the wait with
// `StopReason::kDelayRule`. A negative or infinite delay, such as arithmetic
// with not-a-number gives, is replaced by `computed()`. Draw random delays from
// `gen`, so that `WaitHooks::seed` and tests control them; `gen` is valid
// only during the call. An exception of the rule ends the wait, like one of the
// status function.
//
// Waits on several threads call the same rule, so it must be safe to call
// concurrently. It should depend on the request alone: a rule has no memory of
// its own for each wait.
using DelayRule = std::function<std::optional<absl::Duration>(
    const DelayRequest& request, absl::BitGenRef gen)>;

}  // namespace waiter

#endif  // WAITER_DELAY_RULE_H_
