// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: returns PollStatus, bool, Poll<T>, absl::Status or absl::StatusOr<T>

#include <string>

#include "absl/time/time.h"
#include "waiter/waiter.h"

std::string GetState();

void WaitUntilUp() {
  waiter::Waiter wait([] { return GetState(); }, {.timeout = absl::Minutes(5)});
  (void)wait.Wait();
}
