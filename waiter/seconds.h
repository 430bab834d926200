// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Seconds as floating-point numbers, for the calculations of budgets.

#ifndef WAITER_SECONDS_H_
#define WAITER_SECONDS_H_

#include <chrono>
#include <cmath>
#include <cstdint>

#include "waiter/clock.h"

namespace waiter::internal {

inline constexpr double kNanosecondsPerSecond = 1e9;

// Returns the time that is `delay` seconds after `time`, rounded to a
// nanosecond and saturated. Requires that `delay` is not negative.
inline MonotonicTime SecondsAfter(MonotonicTime time, double delay) {
  const double rounded = std::round(delay * kNanosecondsPerSecond);
  constexpr double kLimit = 9.2e18;  // Below 2^63.
  if (rounded >= kLimit) return MonotonicTime::max();
  return SaturatingAdd(time,
                       std::chrono::nanoseconds(static_cast<int64_t>(rounded)));
}

}  // namespace waiter::internal

#endif  // WAITER_SECONDS_H_
