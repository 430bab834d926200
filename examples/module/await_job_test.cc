// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "await_job.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace {

TEST(AwaitJobTest, WaitsUntilTheJobIsDone) {
  waiter::SimulatedClock clock;
  const absl::Status status = AwaitJob(
      [&] { return clock.Elapsed() < absl::Seconds(30) ? "RUNNING" : "DONE"; },
      {.clock = &clock});
  EXPECT_TRUE(status.ok()) << status;
}

TEST(AwaitJobTest, GivesUpAfterAMinute) {
  waiter::SimulatedClock clock;
  const absl::Status status =
      AwaitJob([] { return "RUNNING"; }, {.clock = &clock});
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(clock.Elapsed(), absl::Minutes(1));
}

}  // namespace
