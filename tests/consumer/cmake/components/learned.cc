// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::learned.

#include <memory>

#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"

int main() {
  const auto learned =
      waiter::LearnedDelays::Make(std::make_shared<waiter::DurationModel>());
  return learned.ok() ? 0 : 1;
}
