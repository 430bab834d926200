// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: A time has a unit: write absl::Seconds(5).

#include "waiter/waiter.h"

bool IsUp();

void WaitUntilUp() {
  waiter::Waiter wait([] { return IsUp(); }, {.timeout = 5});
  (void)wait.Wait();
}
