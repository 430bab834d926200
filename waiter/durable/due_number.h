// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The number that a store keeps for each pending wait: the time from which any
// worker may claim the wait, in microseconds of the store's clock.
//
//   if (DueNumber(*wait.due_us).is_leased()) ...
//
// Invariant: the number is odd exactly while a worker holds the wait. It is
// then the end of the lease and the fencing token. A claim that finds an odd
// number in the past knows that the last holder vanished.

#ifndef WAITER_DURABLE_DUE_NUMBER_H_
#define WAITER_DURABLE_DUE_NUMBER_H_

#include <cstdint>

namespace waiter::internal {

class DueNumber {
 public:
  constexpr explicit DueNumber(int64_t value) : value_(value) {}

  // Returns the last even number up to `time`, which is not negative.
  static constexpr int64_t Even(int64_t time) { return time - time % 2; }

  // Returns `delay`, rounded up so that an even number plus the delay is even.
  static constexpr int64_t FreeDelay(int64_t delay) {
    return delay + delay % 2;
  }

  constexpr bool is_leased() const { return value_ % 2 == 1; }
  constexpr int64_t value() const { return value_; }

 private:
  int64_t value_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_DUE_NUMBER_H_
