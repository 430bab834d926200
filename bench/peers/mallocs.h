// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Counts heap allocations of every kind, including C libraries', by replacing
// the allocation functions of the C library.

#ifndef WAITER_BENCH_PEERS_MALLOCS_H_
#define WAITER_BENCH_PEERS_MALLOCS_H_

#include <cstdint>

namespace waiter::bench {

// Returns the number of allocations of this program so far. Counting takes less
// than a nanosecond, and misses some when several threads allocate
// simultaneously.
int64_t Mallocs();

}  // namespace waiter::bench

#endif  // WAITER_BENCH_PEERS_MALLOCS_H_
