// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/durable/client.h"
#include "waiter/durable/worker.h"
#include "waiter/telemetry/metrics.h"

namespace waiter::durable_metrics_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DurableMetricsTest, WorkersHaveTheirNumbers) {
  DurableWaitsState well;
  well.held = 3;
  well.polls = 40;
  DurableWaitsState ill;
  ill.clock_step = absl::Seconds(-90);
  ill.last_error = absl::UnavailableError("down");
  const std::string text =
      PrometheusText(DurableMetrics({{"one", well}, {"t\"wo", ill}}));
  EXPECT_THAT(
      text, HasSubstr("# HELP waiter_durable_worker_held Waits that the worker "
                      "holds.\n"
                      "# TYPE waiter_durable_worker_held gauge\n"
                      "waiter_durable_worker_held{worker=\"one\"} 3\n"
                      "waiter_durable_worker_held{worker=\"t\\\"wo\"} 0\n"));
  EXPECT_THAT(
      text, HasSubstr("# TYPE waiter_durable_worker_polls_total counter\n"
                      "waiter_durable_worker_polls_total{worker=\"one\"} 40"));
  EXPECT_THAT(
      text, HasSubstr("waiter_durable_worker_failing{worker=\"one\"} 0\n"
                      "waiter_durable_worker_failing{worker=\"t\\\"wo\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("waiter_durable_worker_clock_step_seconds{worker="
                              "\"t\\\"wo\"} -90\n"));
}

TEST(DurableMetricsTest, NamesHaveTheirNumbers) {
  const std::string text = PrometheusText(DurableMetrics(
      {{"jobs",
        DurableStats{
            .pending = 5,
            .undelivered = 1,
            .overdue = 2,
            .oldest = absl::Milliseconds(2500),
            .kept = 7,
            .polls = 90,
            .counters = {{"deadline", 3}, {"enqueued", 12}, {"success", 4}}}},
       {"none", DurableStats()}}));
  for (const std::string line :
       {"waiter_durable_pending{name=\"jobs\"} 5\n",
        "waiter_durable_undelivered{name=\"jobs\"} 1\n",
        "waiter_durable_overdue{name=\"jobs\"} 2\n",
        "waiter_durable_oldest_seconds{name=\"jobs\"} 2.5\n",
        "waiter_durable_kept{name=\"jobs\"} 7\n",
        "waiter_durable_polls_total{name=\"jobs\"} 90\n",
        "waiter_durable_enqueued_total{name=\"jobs\"} 12\n",
        "waiter_durable_enqueued_total{name=\"none\"} 0\n",
        "waiter_durable_ended_total{name=\"jobs\",reason=\"deadline\"} 3\n"
        "waiter_durable_ended_total{name=\"jobs\",reason=\"success\"} 4\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("reason=\"enqueued\"")));
}

TEST(DurableMetricsTest, FamiliesWithoutSamplesHaveNoLines) {
  EXPECT_EQ(PrometheusText(DurableMetrics(
                std::vector<std::pair<std::string, DurableStats>>())),
            "");
}

}  // namespace
}  // namespace waiter::durable_metrics_test
