// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: A time has a unit: write absl::Seconds(5).

#include "absl/time/time.h"
#include "waiter/waiter.h"

bool IsUp();

void WaitUntilUp() {
  waiter::Waiter wait([] { return IsUp(); }, {.timeout = absl::Minutes(5),
                                              .backoff = {.max_delay = 30}});
  (void)wait.Wait();
}
