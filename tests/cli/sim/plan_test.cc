// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/plan.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/options.h"

namespace waiter::sim::plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

WaitOptions OneTwoFour(Jitter jitter) {
  return {.timeout = absl::Seconds(30),
          .backoff = {.initial_delay = absl::Seconds(1),
                      .max_delay = absl::Seconds(10),
                      .jitter = jitter}};
}

// Checks the worked table of docs/design.md.
TEST(PlanTest, PollHasOneTimeWithoutJitter) {
  const absl::StatusOr<Plan> plan = MakePlan(OneTwoFour(Jitter::None()));

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->example,
              ElementsAre(absl::ZeroDuration(), absl::Seconds(1),
                          absl::Seconds(3), absl::Seconds(7), absl::Seconds(15),
                          absl::Seconds(25), absl::Seconds(30)));
  ASSERT_THAT(plan->polls, SizeIs(7));
  EXPECT_EQ(plan->polls[3].p5, absl::Seconds(7));
  EXPECT_EQ(plan->polls[3].p95, absl::Seconds(7));
  EXPECT_EQ(plan->polls[3].reached, 1);
  EXPECT_EQ(plan->mean_polls, 7);
  EXPECT_FALSE(plan->cut_off);
}

TEST(PlanTest, WindowsMatchTheJitter) {
  const absl::StatusOr<Plan> equal = MakePlan(OneTwoFour(Jitter::Equal()));
  EXPECT_EQ(equal->polls[0].longest_delay, absl::ZeroDuration());
  EXPECT_EQ(equal->polls[4].shortest_delay, absl::Seconds(4));
  EXPECT_EQ(equal->polls[4].longest_delay, absl::Seconds(8));
  EXPECT_EQ(equal->polls[6].shortest_delay, absl::Seconds(5));
  EXPECT_EQ(equal->polls[6].longest_delay, absl::Seconds(10));

  const absl::StatusOr<Plan> decorrelated =
      MakePlan(OneTwoFour(Jitter::Decorrelated()));
  EXPECT_EQ(decorrelated->polls[2].shortest_delay, absl::Seconds(1));
  EXPECT_EQ(decorrelated->polls[2].longest_delay, absl::Seconds(9));
}

TEST(PlanTest, JitterSpreadsTheTimesOfAPollWithinItsWindows) {
  const absl::StatusOr<Plan> plan = MakePlan(OneTwoFour(Jitter::Full()));

  // The third poll begins in [0, 3], after even draws from [0, 1] and [0, 2].
  const PlannedPoll& third = plan->polls[2];
  EXPECT_NEAR(absl::ToDoubleSeconds(third.p50), 1.5, 0.1);
  EXPECT_NEAR(absl::ToDoubleSeconds(third.p5), 0.447, 0.1);
  EXPECT_NEAR(absl::ToDoubleSeconds(third.p95), 2.553, 0.1);
  EXPECT_LT(plan->polls.back().reached, 0.1);
}

TEST(PlanTest, FirstPollDelayCounts) {
  WaitOptions policy = OneTwoFour(Jitter::None());
  policy.polls.first_delay = absl::Seconds(20);

  const absl::StatusOr<Plan> plan = MakePlan(policy);

  EXPECT_THAT(plan->example, ElementsAre(absl::Seconds(20), absl::Seconds(21),
                                         absl::Seconds(23), absl::Seconds(27),
                                         absl::Seconds(30)));
  EXPECT_EQ(plan->polls[0].longest_delay, absl::Seconds(20));
}

TEST(PlanTest, EndlessWaitIsCutOff) {
  WaitOptions policy = OneTwoFour(Jitter::Full());
  policy.timeout = absl::InfiniteDuration();

  const absl::StatusOr<Plan> plan =
      MakePlan(policy, {.max_polls = 12, .waits = 10});

  EXPECT_THAT(plan->polls, SizeIs(12));
  EXPECT_TRUE(plan->cut_off);
}

TEST(PlanTest, InvalidOptionsAreAnError) {
  EXPECT_EQ(MakePlan({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PlanTest, TableHasALineForEachPoll) {
  const absl::StatusOr<Plan> plan = MakePlan(OneTwoFour(Jitter::Equal()));

  const std::string table = PlanTable(*plan, 3);

  EXPECT_THAT(table, HasSubstr("\n      1  0 "));
  EXPECT_THAT(table, HasSubstr("\n      2  500ms - 1s "));
  EXPECT_THAT(table, HasSubstr("\n      3  1s - 2s "));
  EXPECT_THAT(table, HasSubstr(" 100 %\n    ... and up to "));
}

TEST(TimelineTest, TimelineMarksThePolls) {
  EXPECT_EQ(Timeline({absl::ZeroDuration(), absl::Seconds(0.5),
                      absl::Seconds(5), absl::Seconds(10)},
                     absl::Seconds(10), 10),
            "#....|...|");
  EXPECT_EQ(Timeline({}, absl::ZeroDuration(), 3), "...");
  EXPECT_EQ(Timeline({absl::ZeroDuration()}, absl::ZeroDuration(), 3), "|..");
}

TEST(PollPlannerTest, EqualGeneratorsGiveEqualTimes) {
  const absl::StatusOr<PollPlanner> planner =
      PollPlanner::Make(OneTwoFour(Jitter::Full()));
  SplitMix64 gen(3);
  SplitMix64 same(3);
  EXPECT_EQ(planner->PollTimes(gen, 100), planner->PollTimes(same, 100));
}

}  // namespace
}  // namespace waiter::sim::plan_test
