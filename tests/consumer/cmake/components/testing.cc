// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::testing.

#include "absl/time/time.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

int main() {
  waiter::SimulatedClock clock;
  waiter::Waiter wait([&] { return clock.Elapsed() >= absl::Minutes(2); },
                      {.timeout = absl::Hours(1), .clock = &clock});
  return wait.Wait().ok() ? 0 : 1;
}
