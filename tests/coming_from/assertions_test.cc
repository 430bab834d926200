// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Assertions of Awaitility, Gomega, Playwright and testify.

#include <chrono>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/delay_source.h"
#include "waiter/poll.h"
#include "waiter/testing/gtest.h"

namespace assertions_test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Is done after a few looks.
class Job {
 public:
  std::string State() { return ++looks_ < 3 ? "RUNNING" : "DONE"; }
  bool HasResult() { return ++looks_ > 2; }
  int Result() const { return looks_ > 2 ? 42 : 0; }
  bool IsDeleted() const { return false; }
  bool IsThrottled() { return ++looks_ == 1; }

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

// Gomega: StopTrying("...").Now() and TryAgainAfter(...).Now().
std::string StateOf(Job& job) {
  if (job.IsDeleted()) throw waiter::StopTrying("job 42 was deleted");
  if (job.IsThrottled()) throw waiter::TryAgainAfter(absl::Milliseconds(20));
  return job.State();
}

// SetDefaultEventuallyTimeout, Awaitility.setDefaultTimeout, expect.configure.
class SlowJobTest : public testing::Test {
  waiter::ScopedEventuallyDefaults defaults_{
      {.timeout = absl::Seconds(30),
       .delay_source = waiter::DelayList(  // The intervals of Playwright.
           {100ms, 250ms, 500ms, 1s})}};
};

TEST_F(SlowJobTest, IsDone) {
  Job job;

  EXPECT_EVENTUALLY(StateOf(job), "DONE");
}

}  // namespace
}  // namespace assertions_test
