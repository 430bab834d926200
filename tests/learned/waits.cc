// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A program that only waits.

#include "absl/time/time.h"
#include "waiter/waiter.h"

int main() {
  waiter::Waiter wait([] { return true; }, {.timeout = absl::Seconds(1)});
  return wait.Wait().ok() ? 0 : 1;
}
