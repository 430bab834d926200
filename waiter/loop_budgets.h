// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The price of polls: tokens of the retry quota, and turns of the rate limiter.
// For policies with `has_budgets()`.

#ifndef WAITER_LOOP_BUDGETS_H_
#define WAITER_LOOP_BUDGETS_H_

#include <chrono>
#include <optional>

#include "waiter/clock.h"
#include "waiter/delay.h"
#include "waiter/loop.h"
#include "waiter/result.h"

namespace waiter::internal {

// Pays for the next poll from the quota. If the quota will have the tokens only
// later, lengthens `delay` by the time until then and raises `min_delay` to it.
// Returns false if the wait ends instead of polling.
bool BookPoll(ActiveWait& wait, MonotonicTime now, Delay& delay,
              std::chrono::nanoseconds& min_delay);

// Returns nullopt if a poll may begin now, and otherwise the delay that the
// rate limiter puts before it.
std::optional<Delay> LimiterDelay(const ActiveWait& wait, MonotonicTime now);

// Tells the rate limiter the answer of a poll.
void UpdateLimiter(const ActiveWait& wait, MonotonicTime now);

// At the end of a wait: gives back the tokens of the last paid poll after a
// success, and the tokens of a poll that was paid for and never began.
void SettleQuota(ActiveWait& wait, StopReason reason, MonotonicTime now);

}  // namespace waiter::internal

#endif  // WAITER_LOOP_BUDGETS_H_
