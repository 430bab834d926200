// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: waiter::Poll<int>

#include "absl/time/time.h"
#include "waiter/waiter.h"

bool IsUp();
int Port();

// The lambda lacks `-> waiter::Poll<int>`.
void WaitUntilUp() {
  waiter::Waiter wait(
      [] {
        if (!IsUp()) return waiter::NotReady("starting");
        return waiter::Success(Port());
      },
      {.timeout = absl::Minutes(5)});
  (void)wait.Wait();
}
