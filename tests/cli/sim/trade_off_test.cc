// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/trade_off.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/duration_distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/options.h"

namespace waiter::sim::trade_off_test {
namespace {

using ::testing::HasSubstr;

const absl::Duration kTimeout = absl::Minutes(10);

WaitOptions Every(absl::Duration delay) {
  return {.timeout = kTimeout,
          .backoff = {.initial_delay = delay,
                      .max_delay = delay,
                      .jitter = Jitter::None()}};
}

TEST(TradeOffTest, ConstantTimeHasExactPollsAndDelay) {
  const std::vector<TradeOff> points = ValueOrFail(
      CompareTradeOffs({{{"every 10s", Every(absl::Seconds(10))},
                         {"every 30s", Every(absl::Seconds(30))}}},
                       DurationDistribution::Constant(absl::Seconds(41))));

  // Polls at 0, 10, ..., 50, and at 0, 30, 60.
  EXPECT_NEAR((points)[0].mean_polls, 6, 1e-9);
  EXPECT_EQ((points)[0].p95_delay, absl::Seconds(9));
  EXPECT_NEAR((points)[1].mean_polls, 3, 1e-9);
  EXPECT_EQ((points)[1].p50_delay, absl::Seconds(19));
  EXPECT_TRUE((points)[0].on_front);
  EXPECT_TRUE((points)[1].on_front);
}

TEST(TradeOffTest, DominatedPolicyIsNotOnTheFront) {
  // Polls at 0, 1, 3, 7, 15, 31, 61: two more than every 15 s, and later.
  WaitOptions doubling = Every(absl::Seconds(1));
  doubling.backoff.max_delay = absl::Seconds(30);
  const absl::StatusOr<std::vector<TradeOff>> points =
      CompareTradeOffs({{{"every 15s", Every(absl::Seconds(15))},
                         {"doubling", doubling},
                         {"hopeless", {.timeout = absl::Seconds(1)}}}},
                       DurationDistribution::Constant(absl::Seconds(50)));

  EXPECT_TRUE((*points)[0].on_front);
  EXPECT_FALSE((*points)[1].on_front);
  EXPECT_EQ((*points)[2].missed, 1);
  EXPECT_EQ((*points)[2].p95_delay, absl::InfiniteDuration());
}

// These figures come from a prototype in another language, with its own draws.
TEST(TradeOffTest, KnownPoliciesCostAsMuchAsInAnotherProgram) {
  const std::vector<TradeOff> points = ValueOrFail(
      CompareTradeOffs(KnownPolicies(absl::Minutes(1), kTimeout),
                       DurationDistribution::Lognormal(absl::Minutes(1), 0.6)));

  const auto expect = [&](const std::string& name, double polls,
                          double p95_seconds) {
    for (const TradeOff& point : points) {
      if (point.name != name) continue;
      EXPECT_NEAR(point.mean_polls / polls, 1, 0.05) << name;
      EXPECT_NEAR(absl::ToDoubleSeconds(point.p95_delay) / p95_seconds, 1, 0.05)
          << name;
      return;
    }
    ADD_FAILURE() << "no policy is called " << name;
  };
  expect("every 1s", 72.8, 0.95);
  expect("every 5s", 15.8, 4.8);
  expect("every 15s", 6.3, 14.3);
  expect("x2 to 30s", 7.8, 28.7);
  expect("x1.5 to 15s", 11.1, 14.1);
  expect("x2 to 30s, full", 10.3, 23.5);
  expect("x2 to 30s, equal", 8.6, 24.0);
  expect("x2 to 30s, decorrelated", 10.0, 26.8);
}

TEST(TradeOffTest, DefaultBeatsFullJitterForEveryDuration) {
  const BackoffOptions full = {.max_delay = absl::Seconds(10),
                               .jitter = Jitter::Full()};
  for (const int seconds : {2, 20, 60, 300}) {
    const std::vector<TradeOff> points = ValueOrFail(CompareTradeOffs(
        {{{"default", {.timeout = absl::Hours(1)}},
          {"full", {.timeout = absl::Hours(1), .backoff = full}}}},
        DurationDistribution::Lognormal(absl::Seconds(seconds), 0.6)));

    EXPECT_LT((points)[0].mean_polls, 0.95 * (points)[1].mean_polls);
    EXPECT_LT((points)[0].p95_delay, 0.9 * (points)[1].p95_delay) << seconds;
  }
}

TEST(TradeOffTest, ErrorNamesThePolicy) {
  WaitOptions frantic = {.timeout = kTimeout,
                         .backoff = {.initial_delay = absl::Nanoseconds(1),
                                     .max_delay = absl::Nanoseconds(1)}};
  const DurationDistribution ready =
      DurationDistribution::Constant(absl::Seconds(1));

  EXPECT_THAT(std::string(CompareTradeOffs({{{"unset", WaitOptions()}}}, ready)
                              .status()
                              .message()),
              HasSubstr("unset: timeout is not set"));
  EXPECT_THAT(std::string(CompareTradeOffs({{{"frantic", frantic}}}, ready,
                                           {.waits = 1})
                              .status()
                              .message()),
              HasSubstr("frantic: makes more than 1048576 polls in 1s"));
}

TEST(ProposePolicyTest, ProposalKeepsTheDelayWithFewerPollsThanFixedDelays) {
  for (const char* text : {"lognormal:60s,0.6", "lognormal:200ms,0.3",
                           "uniform:30s,90s", "exponential:5m", "45s"}) {
    const DurationDistribution ready = *DurationDistribution::Parse(text);
    const absl::Duration goal = ready.Median() / 10;
    const NamedPolicy proposal =
        ProposePolicy(ready, {.timeout = absl::Hours(2), .waits = 200});

    WaitOptions fixed = Every(goal / 1.2);
    fixed.timeout = absl::Hours(2);
    fixed.backoff.jitter = Jitter::Proportional(0.2);
    const absl::StatusOr<std::vector<TradeOff>> points =
        CompareTradeOffs({{proposal, {"fixed", fixed}}}, ready, {.seed = 99});

    ASSERT_TRUE(points.ok()) << text << points.status();
    EXPECT_LE((*points)[0].p95_delay, goal * 1.15) << text;
    EXPECT_LT((*points)[0].mean_polls, (*points)[1].mean_polls) << text;
    EXPECT_EQ((*points)[0].missed, (*points)[1].missed) << text;
  }
}

TEST(ProposePolicyTest, LongerDelayTakesFewerPolls) {
  const DurationDistribution ready =
      DurationDistribution::Lognormal(absl::Minutes(1), 0.6);
  const std::vector<NamedPolicy> policies = {
      ProposePolicy(ready, {.p95_delay = absl::Seconds(5), .waits = 200}),
      ProposePolicy(ready, {.p95_delay = absl::Seconds(20), .waits = 200})};

  const absl::StatusOr<std::vector<TradeOff>> points =
      CompareTradeOffs(policies, ready);

  EXPECT_LT((*points)[1].mean_polls, (*points)[0].mean_polls);
  EXPECT_LE((*points)[1].p95_delay, absl::Seconds(22));
}

}  // namespace
}  // namespace waiter::sim::trade_off_test
