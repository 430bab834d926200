// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A program that waits with learned delays.

#include <memory>

#include "absl/time/time.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/waiter.h"

int main() {
  const auto learned =
      waiter::LearnedDelays::Make(std::make_shared<waiter::DurationModel>());
  if (!learned.ok()) return 1;
  waiter::Waiter wait([] { return true; },
                      {.timeout = absl::Seconds(1), .delay_source = *learned});
  return wait.Wait().ok() ? 0 : 1;
}
