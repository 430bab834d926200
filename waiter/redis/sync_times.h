// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Times between the requests of a member, and when it continues without the
// store. The same for both budgets, so that they switch together.

#ifndef WAITER_REDIS_SYNC_TIMES_H_
#define WAITER_REDIS_SYNC_TIMES_H_

#include <chrono>

namespace waiter::internal {

// Least time between two requests, and the time after one without an answer.
inline constexpr std::chrono::nanoseconds kLeastGap =
    std::chrono::milliseconds(5);
inline constexpr std::chrono::nanoseconds kRetryGap =
    std::chrono::milliseconds(300);

// A member continues alone after this many requests without an answer, and at
// least this long after the first of them.
inline constexpr int kMissesToLocal = 3;
inline constexpr std::chrono::nanoseconds kTimeToLocal =
    std::chrono::seconds(2);

// It awaits the answer to a request until this long after the first of them, as
// a store may take a minute to say that it is away.
inline constexpr std::chrono::nanoseconds kLongestSilence =
    std::chrono::milliseconds(2500);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_SYNC_TIMES_H_
