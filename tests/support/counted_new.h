// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Counts what a test allocates: linking this replaces every `operator new`.
//
//   const int64_t before = waiter::AllocationCount();
//   delete new int;
//   EXPECT_EQ(waiter::AllocationCount() - before, 1);

#ifndef WAITER_TESTS_SUPPORT_COUNTED_NEW_H_
#define WAITER_TESTS_SUPPORT_COUNTED_NEW_H_

#include <cstdint>

namespace waiter {

// Returns how often memory was allocated so far, by any thread.
int64_t AllocationCount();

// Returns how many of these allocations have not been freed.
int64_t LiveAllocationCount();

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_COUNTED_NEW_H_
