// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::redis.

#include "waiter/redis/shared_budgets.h"

int main() {
  const waiter::SharedRateLimiterOptions options = {.name = "ec2", .rate = 20};
  return waiter::Validate(options).ok() ? 0 : 1;
}
