// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Counts allocations, by replacing the global `operator new`.

#ifndef WAITER_BENCH_ALLOCATIONS_H_
#define WAITER_BENCH_ALLOCATIONS_H_

#include <cstdint>

namespace waiter::bench {

// Returns the number of allocations of this program so far.
int64_t Allocations();

}  // namespace waiter::bench

#endif  // WAITER_BENCH_ALLOCATIONS_H_
