// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Drives a `WaitLoop` with a clock that is a variable.

#include <chrono>
#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace {

TEST(OwnLoopTest, PollsUntilReady) {
  const std::shared_ptr<const waiter::WaitPolicy> policy =
      waiter::WaitPolicy::Make({.timeout = absl::Minutes(5)});
  ASSERT_TRUE(policy->status().ok());
  waiter::SplitMix64 gen(1);
  waiter::MonotonicTime now(std::chrono::seconds(1));
  const auto never = [] { return false; };

  waiter::WaitReport report;
  waiter::WaitLoop loop(*policy, report);
  waiter::NextStep step = loop.Start(now, policy->DeadlineFrom(now), never);
  int polls = 0;
  while (step.action() != waiter::NextStep::Action::kFinish) {
    if (step.action() == waiter::NextStep::Action::kPoll) {
      report.last_poll = ++polls < 5 ? waiter::PollStatus::kNotReady
                                     : waiter::PollStatus::kSuccess;
      step = loop.OnPoll(now, gen, never);
    } else {
      EXPECT_GT(step.wake_up(), now);
      now = step.wake_up();
      step = loop.OnWake(now, never);
    }
  }
  EXPECT_EQ(report.reason, waiter::StopReason::kSuccess);
  EXPECT_EQ(report.attempts, 5);
}

}  // namespace
