// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Assertions of Awaitility and Gomega.

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/testing/gtest.h"

namespace {

// Is done when it was looked at a few times.
class Job {
 public:
  std::string State() { return ++looks_ < 3 ? "RUNNING" : "DONE"; }
  bool HasResult() { return ++looks_ > 2; }
  int Result() const { return looks_ > 2 ? 42 : 0; }

 private:
  int looks_ = 0;
};

TEST(JobTest, IsDoneWithinTenSeconds) {
  Job job;

  EXPECT_EVENTUALLY(job.State(), "DONE",
                    {.name = "job 42",
                     .timeout = absl::Seconds(10),
                     .backoff = {.initial_delay = absl::Milliseconds(100),
                                 .max_delay = absl::Milliseconds(100),
                                 .jitter = waiter::Jitter::None()}},
                    waiter::FailIf("FAILED"));
}

TEST(JobTest, StaysDone) {
  Job job;

  ASSERT_EVENTUALLY(job.State(), "DONE");
  EXPECT_CONSISTENTLY(job.State(), "DONE",
                      {.hold_for = absl::Milliseconds(200)});
}

TEST(JobTest, HasAResult) {
  Job job;

  EXPECT_EVENTUALLY_PASSES({
    ASSERT_TRUE(job.HasResult());
    EXPECT_EQ(job.Result(), 42);
  });
}

}  // namespace
