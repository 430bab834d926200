// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Counts heap allocations of every kind, those of C libraries included, by
// standing before the C library's allocator.

#ifndef WAITER_BENCH_PEERS_MALLOCS_H_
#define WAITER_BENCH_PEERS_MALLOCS_H_

#include <cstdint>

namespace waiter::bench {

// Returns how often this program has allocated. Counting costs less than a
// nanosecond, and misses some where several threads allocate at once.
int64_t Mallocs();

}  // namespace waiter::bench

#endif  // WAITER_BENCH_PEERS_MALLOCS_H_
