// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::durable, and of the components that it depends
// on.

#include "waiter/durable/worker.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/telemetry/metrics.h"

int main() {
  const bool ok =
      waiter::Validate(waiter::DurableWaitsOptions{}).ok() &&
      waiter::Validate(waiter::SharedRateLimiterOptions{.name = "ec2"}).ok() &&
      waiter::PrometheusLabelValue("up") == "up";
  return ok ? 0 : 1;
}
