// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::telemetry.

#include <memory>

#include "absl/time/time.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/waiter.h"

int main() {
  auto table = std::make_shared<waiter::MetricsTable>();
  waiter::Waiter wait(
      [] { return true; },
      {.timeout = absl::Seconds(1),
       .hooks = {.observer =
                     std::make_shared<waiter::MetricsObserver>(table)}});
  const bool ok = wait.Wait().ok();
  return ok && !waiter::PrometheusText(*table).empty() ? 0 : 1;
}
