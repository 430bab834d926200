// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Rate limiters and quotas that tests begin with.

#ifndef WAITER_TESTS_CORE_LIMITERS_H_
#define WAITER_TESTS_CORE_LIMITERS_H_

#include <chrono>
#include <cmath>
#include <memory>

#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter {

// A start after some uptime, so that nothing relies on a clock that starts at
// 0.
inline constexpr MonotonicTime kStart{std::chrono::hours(1000)};

inline MonotonicTime At(double seconds) {
  return kStart + std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

inline std::shared_ptr<RetryQuota> MakeQuota(const RetryQuotaOptions& options) {
  return RetryQuota::Make(options).value();
}

inline std::shared_ptr<AdaptiveRateLimiter> MakeLimiter(
    const RateLimiterOptions& options = {}) {
  return AdaptiveRateLimiter::Make(options).value();
}

// Returns a limiter that was throttled at the start and refills at `fill_rate`.
inline std::shared_ptr<AdaptiveRateLimiter> MakeThrottled(double fill_rate,
                                                          double max_capacity) {
  auto limiter =
      MakeLimiter({.min_fill_rate = fill_rate, .min_capacity = max_capacity});
  limiter->Update(kStart, PollStatus::kThrottled);
  return limiter;
}

}  // namespace waiter

#endif  // WAITER_TESTS_CORE_LIMITERS_H_
