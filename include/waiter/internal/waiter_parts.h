// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The status function and the policy of a waiter, for code that makes another
// waiter of them.

#ifndef WAITER_INTERNAL_WAITER_PARTS_H_
#define WAITER_INTERNAL_WAITER_PARTS_H_

namespace waiter::internal {

// `W` is a `Waiter<F>` or an `AsyncWaiter<F>`.
template <typename W>
struct WaiterParts {
  static auto& Function(W& waiter) { return waiter.function_; }
  static auto& Policy(W& waiter) { return waiter.policy_; }
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_WAITER_PARTS_H_
