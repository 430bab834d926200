// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Counts allocations. Linking this library replaces every `operator new`.
//
//   const int64_t before = waiter::AllocationCount();
//   delete new int;
//   EXPECT_EQ(waiter::AllocationCount() - before, 1);

#ifndef WAITER_TESTS_SUPPORT_COUNTED_NEW_H_
#define WAITER_TESTS_SUPPORT_COUNTED_NEW_H_

#include <cstdint>

namespace waiter {

// Returns the number of allocations so far, by any thread.
int64_t AllocationCount();

// Returns the number of these allocations that are not freed.
int64_t LiveAllocationCount();

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_COUNTED_NEW_H_
