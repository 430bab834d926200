// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/fleet.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/network.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/options.h"

namespace waiter::sim::fleet_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Polls every 10 s, exact to the nanosecond.
WaitOptions EveryTenSeconds() {
  return {.timeout = absl::Minutes(1),
          .backoff = {.initial_delay = absl::Seconds(10),
                      .max_delay = absl::Seconds(10),
                      .jitter = Jitter::None()}};
}

// Each poll takes 100 ms to the server and 100 ms back.
FleetOptions Fleet(int clients, WaitOptions policy,
                   DurationDistribution ready_after) {
  return {.clients = clients,
          .policy = std::move(policy),
          .ready_after = ready_after,
          .network = {.mean = absl::Milliseconds(100),
                      .deviation = absl::ZeroDuration()}};
}

std::vector<int64_t> PollsBySecond(const FleetRun& run) {
  std::vector<int64_t> polls;
  for (const PollCounts& second : run.seconds) polls.push_back(second.polls);
  return polls;
}

// Polls begin at 0, 10.2, 20.4 and 30.6 s and reach the server 0.1 s later. The
// fourth finds the operation, ready since 21 s, done, and its answer arrives at
// 30.8 s.
TEST(FleetTest, DelayRunsFromTheEndOfAPoll) {
  const FleetRun run = ValueOrFail(
      SimulateFleet(Fleet(1, EveryTenSeconds(),
                          DurationDistribution::Constant(absl::Seconds(21))),
                    /*seed=*/1));

  std::vector<int64_t> expected(31);
  expected[0] = expected[10] = expected[20] = expected[30] = 1;
  EXPECT_EQ(PollsBySecond(run), expected);
  EXPECT_THAT(run.detection_delays, ElementsAre(absl::Seconds(9.8)));
  EXPECT_EQ(run.polls, 4);
  EXPECT_EQ(run.throttled, 0);
  EXPECT_EQ(run.gave_up, 0);
}

TEST(FleetTest, WaitThatEndsAtItsDeadlineGivesUp) {
  const FleetRun run = ValueOrFail(
      SimulateFleet(Fleet(3, EveryTenSeconds(),
                          DurationDistribution::Constant(absl::Hours(1))),
                    /*seed=*/1));

  EXPECT_EQ(run.gave_up, 3);
  EXPECT_THAT(run.detection_delays, ElementsAre());
  EXPECT_EQ(run.DetectionDelay(0.5), absl::InfiniteDuration());
  // Polls at 0, 10.2, ..., 51 s, and the last poll at the deadline.
  EXPECT_EQ(run.polls, 3 * 7);
}

// The bucket holds two polls a second. Of four simultaneous polls two are
// throttled, and return together when the bucket is full again.
TEST(FleetTest, PollsBeyondTheLimitAreThrottled) {
  WaitOptions policy = EveryTenSeconds();
  policy.errors.throttled_backoff = {.initial_delay = absl::Seconds(20),
                                     .jitter = Jitter::None()};
  policy.errors.throttled_backoff.max_delay = absl::Seconds(20);
  FleetOptions options =
      Fleet(4, policy, DurationDistribution::Constant(absl::Milliseconds(1)));
  options.server.polls_per_second = 2;

  const FleetRun run = ValueOrFail(SimulateFleet(options, /*seed=*/1));

  EXPECT_EQ(run.seconds.front().polls, 4);
  EXPECT_EQ(run.seconds.front().throttled, 2);
  EXPECT_EQ(run.seconds[20].polls, 2);
  EXPECT_EQ(run.seconds[20].throttled, 0);
  EXPECT_EQ(run.polls, 6);
  EXPECT_NEAR(run.throttled_share(), 2.0 / 6, 1e-12);
  EXPECT_EQ(run.detection_delays.size(), 4);
}

TEST(FleetTest, ThrottledPollGetsARetryAfter) {
  FleetOptions options =
      Fleet(2, EveryTenSeconds(),
            DurationDistribution::Constant(absl::Milliseconds(1)));
  options.policy.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
  options.server = {.polls_per_second = 1, .retry_after = absl::Seconds(33)};

  const FleetRun run = ValueOrFail(SimulateFleet(options, /*seed=*/1));

  ASSERT_EQ(run.seconds.size(), 34);
  EXPECT_EQ(run.seconds[33].polls, 1);
}

TEST(FleetTest, SharedReadinessCountsFromTimeZero) {
  FleetOptions options = Fleet(
      50, EveryTenSeconds(), DurationDistribution::Constant(absl::Seconds(5)));
  options.start_spread = absl::Seconds(4);
  options.readiness = FleetOptions::Readiness::kShared;

  const absl::StatusOr<FleetRun> shared = SimulateFleet(options, /*seed=*/1);
  options.readiness = FleetOptions::Readiness::kOwn;
  const absl::StatusOr<FleetRun> own = SimulateFleet(options, /*seed=*/1);

  // A client that starts at s in [0, 4] learns of its readiness at s + 10.4.
  ASSERT_TRUE(shared.ok() && own.ok());
  EXPECT_GE(shared->DetectionDelay(0), absl::Seconds(5.4));
  EXPECT_LE(shared->DetectionDelay(1), absl::Seconds(9.4));
  EXPECT_GT(shared->DetectionDelay(1), shared->DetectionDelay(0));
  EXPECT_THAT(own->detection_delays,
              AllOf(SizeIs(50), Each(absl::Seconds(5.4))));
}

TEST(FleetTest, JitterSpreadsAFleetThatStartsTogether) {
  WaitOptions policy = {.timeout = absl::Minutes(5),
                        .backoff = {.initial_delay = absl::Seconds(1),
                                    .max_delay = absl::Seconds(30),
                                    .jitter = Jitter::None()}};
  // Ready before the deadline, at which all polls coincide with any jitter.
  const DurationDistribution ready =
      DurationDistribution::Constant(absl::Minutes(4));
  const int64_t together = PeakPolls(
      SimulateFleet(Fleet(500, policy, ready), /*seed=*/1)->seconds, 60);
  policy.backoff.jitter = Jitter::Full();
  const int64_t spread = PeakPolls(
      SimulateFleet(Fleet(500, policy, ready), /*seed=*/1)->seconds, 60);

  EXPECT_EQ(together, 500);
  EXPECT_LT(spread, 100);
}

TEST(FleetTest, DefaultSpreadsAFleetWithinHalfAMinute) {
  const DurationDistribution ready =
      DurationDistribution::Constant(absl::Minutes(4));
  const auto peak = [&](const BackoffOptions& backoff) {
    return PeakPolls(
        SimulateFleet(
            Fleet(500, {.timeout = absl::Minutes(5), .backoff = backoff},
                  ready),
            /*seed=*/1)
            ->seconds,
        30);
  };

  // An even spread has 500 polls in 6.2 s, which is 81 in each second.
  EXPECT_LT(peak({}), 120);
  // With narrow windows, half of the delays equal the cap.
  EXPECT_GT(peak({.jitter = Jitter::Proportional(0.2)}), 120);
}

TEST(FleetTest, EachClientHasItsOwnBudgets) {
  // The quota of each client covers 3 throttled retries, so each client makes 4
  // polls. A shared quota would cover 3 retries in all.
  WaitOptions policy = EveryTenSeconds();
  policy.errors.throttled_backoff = {.initial_delay = absl::Seconds(1)};
  policy.budgets.retry_quota =
      *RetryQuota::Make({.capacity = 3, .throttle_cost = 1});
  FleetOptions options =
      Fleet(20, policy, DurationDistribution::Constant(absl::Milliseconds(1)));
  options.server.polls_per_second = 1e-9;

  const absl::StatusOr<FleetRun> run = SimulateFleet(options, /*seed=*/1);
  const absl::StatusOr<FleetRun> again = SimulateFleet(options, /*seed=*/1);

  ASSERT_TRUE(run.ok() && again.ok());
  EXPECT_EQ(run->detection_delays.size(), 1);
  EXPECT_EQ(run->polls, 1 + 19 * 4);
  EXPECT_EQ(again->polls, run->polls);
}

TEST(FleetTest, EqualSeedsGiveEqualRuns) {
  FleetOptions options;
  options.clients = 100;
  options.policy.timeout = absl::Minutes(10);
  options.server.polls_per_second = 20;

  const absl::StatusOr<FleetRun> run = SimulateFleet(options, 5);
  const absl::StatusOr<FleetRun> same = SimulateFleet(options, 5);
  const absl::StatusOr<FleetRun> other = SimulateFleet(options, 6);

  EXPECT_EQ(PollsBySecond(*run), PollsBySecond(*same));
  EXPECT_EQ(run->detection_delays, same->detection_delays);
  EXPECT_NE(run->detection_delays, other->detection_delays);
}

TEST(FleetTest, QuantilesOfDelaysMatchTheSortedList) {
  FleetRun run;
  for (int i = 1; i <= 20; ++i) {
    run.detection_delays.push_back(absl::Seconds(i));
  }
  EXPECT_EQ(run.DetectionDelay(0), absl::Seconds(1));
  EXPECT_EQ(run.DetectionDelay(0.5), absl::Seconds(10));
  EXPECT_EQ(run.DetectionDelay(0.95), absl::Seconds(19));
  EXPECT_EQ(run.DetectionDelay(1), absl::Seconds(20));
}

TEST(FleetTest, ImpossibleOptionsAreNamed) {
  const auto with = [](auto change) {
    FleetOptions options;
    options.policy.timeout = absl::Minutes(1);
    change(options);
    return options;
  };
  const std::vector<std::pair<FleetOptions, const char*>> cases = {
      {with([](FleetOptions& o) { o.clients = 0; }), "clients is 0"},
      {with([](FleetOptions& o) { o.clients = 100'001; }), "clients is 100001"},
      {with([](FleetOptions& o) { o.policy.timeout.reset(); }),
       "timeout is not set"},
      {with([](FleetOptions& o) {
         o.policy.timeout = absl::InfiniteDuration();
       }),
       "policy.timeout is inf; it must be at most"},
      {with([](FleetOptions& o) { o.policy.hooks.seed = 1; }), "clock or seed"},
      {with([](FleetOptions& o) { o.start_spread = -absl::Seconds(1); }),
       "start_spread is -1s"},
      {with([](FleetOptions& o) { o.server.polls_per_second = std::nan(""); }),
       "server.polls_per_second is nan"},
      {with([](FleetOptions& o) { o.server.retry_after = -absl::Seconds(1); }),
       "server.retry_after is -1s"},
      {with([](FleetOptions& o) { o.network.mean = absl::ZeroDuration(); }),
       "network.mean is 0"},
  };
  for (const auto& [options, message] : cases) {
    const absl::Status status = SimulateFleet(options, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace waiter::sim::fleet_test
