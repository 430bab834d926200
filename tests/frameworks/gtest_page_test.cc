// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/frameworks/job.h"
#include "waiter/testing/gtest.h"

namespace {

using ::waiter::Job;
using ::waiter::StartJob;

TEST(JobTest, IsDoneAndHasALog) {
  Job job = StartJob();

  ASSERT_EVENTUALLY(job.State(), "DONE", {.timeout = absl::Seconds(30)},
                    waiter::FailIf("FAILED"));
  EXPECT_EVENTUALLY_PASSES({
    ASSERT_TRUE(job.HasLog());
    EXPECT_EQ(job.LinesOfLog(), 7);
  });
  EXPECT_NEVER(job.State(), "RUNNING");
}

}  // namespace
