// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Metrics of durable waits (distributed/durable_waits.h), for a page of
// Prometheus:
//
//   page = waiter::PrometheusText(*metrics) +
//          waiter::PrometheusText(
//              waiter::DurableMetrics({{"pod-7", waits->State()}}));
//
// The metrics of a worker come from the worker. The metrics of a name come from
// any process that asks the store for them; one process is enough:
//
//   client->Stats("jobs", [&](absl::StatusOr<waiter::DurableStats> stats) {
//     if (stats.ok()) {
//       Keep(waiter::PrometheusText(
//           waiter::DurableMetrics({{"jobs", *std::move(stats)}})));
//     }
//   });

#ifndef WAITER_TELEMETRY_DURABLE_METRICS_H_
#define WAITER_TELEMETRY_DURABLE_METRICS_H_

#include <string>
#include <utility>
#include <vector>

#include "waiter/distributed/durable_client.h"
#include "waiter/distributed/durable_waits.h"
#include "waiter/telemetry/metrics_table.h"

namespace waiter {

// Returns the metrics of workers, with the label `worker`. Each family appears
// once, so give all workers of a page in one call.
//
//   waiter.durable.worker.held
//   waiter.durable.worker.claimed, .polls, .ended, .delivered, .lost,
//     .unreadable        counters since the start of the worker
//   waiter.durable.worker.clock_step   seconds
//   waiter.durable.worker.failing      1 if `last_error` is not OK, or 0
std::vector<MetricFamily> DurableMetrics(
    const std::vector<std::pair<std::string, DurableWaitsState>>& workers);

// Returns the metrics of names, with the label `name`.
//
//   waiter.durable.pending, .overdue, .undelivered, .kept
//   waiter.durable.oldest   seconds by which a wait is overdue
//   waiter.durable.polls, .enqueued
//   waiter.durable.ended    with the label `reason`
std::vector<MetricFamily> DurableMetrics(
    const std::vector<std::pair<std::string, DurableStats>>& names);

}  // namespace waiter

#endif  // WAITER_TELEMETRY_DURABLE_METRICS_H_
