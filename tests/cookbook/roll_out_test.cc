// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests code that waits on simulated time.

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace roll_out_test {
namespace {

struct Cluster {
  int rollbacks = 0;
  void RollBack() { ++rollbacks; }
};

// Your code: the caller may pass a clock.
absl::Status AwaitHealth(Cluster& cluster,
                         std::function<waiter::Poll<>()> health,
                         waiter::Clock* clock = nullptr) {
  waiter::Waiter wait(std::move(health),
                      {.name = "health",
                       .timeout = absl::Minutes(30),
                       .confirm = {.hold_for = absl::Minutes(1)},
                       .clock = clock});
  waiter::WaitResult<> result = wait.Wait();
  if (!result.ok()) cluster.RollBack();
  return result.status();
}

// Its tests.
TEST(AwaitHealthTest, HealthMustHoldForAMinute) {
  waiter::SimulatedClock clock;
  waiter::ScriptedPoll<> health(clock, {waiter::NotReady("starting"),
                                        {waiter::Success(), absl::Seconds(2)},
                                        waiter::ServerError("restarted"),
                                        waiter::Success()});
  Cluster cluster;

  EXPECT_TRUE(AwaitHealth(cluster, std::ref(health), &clock).ok());

  EXPECT_GE(clock.Elapsed() - health.polled_at()[3], absl::Minutes(1));
  EXPECT_EQ(cluster.rollbacks, 0);
}

TEST(AwaitHealthTest, RollsBackAfterHalfAnHour) {
  waiter::SimulatedClock clock;
  waiter::ScriptedPoll<> health(clock, {waiter::NotReady("starting")});
  Cluster cluster;

  EXPECT_TRUE(
      absl::IsDeadlineExceeded(AwaitHealth(cluster, std::ref(health), &clock)));

  EXPECT_EQ(clock.Elapsed(), absl::Minutes(30));
  EXPECT_EQ(cluster.rollbacks, 1);
}

}  // namespace
}  // namespace roll_out_test
