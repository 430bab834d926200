// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::schedule_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class SleepRecorder : public WaitObserver {
 public:
  void BeforeSleep(const SleepEvent& sleep) override {
    delays.push_back(sleep.delay);
  }
  std::vector<absl::Duration> delays;
};

class ScheduleTest : public testing::Test {
 protected:
  SplitMix64 gen_{1};
};

// Checks the worked table of docs/design.md.
TEST_F(ScheduleTest, ScheduleMatchesTheWorkedTable) {
  EXPECT_THAT(
      *Schedule({.timeout = absl::Seconds(30),
                 .backoff = {.initial_delay = absl::Seconds(1),
                             .max_delay = absl::Seconds(10),
                             .jitter = Jitter::None()}},
                gen_),
      ElementsAre(absl::Seconds(1), absl::Seconds(2), absl::Seconds(4),
                  absl::Seconds(8), absl::Seconds(10), absl::Seconds(5)));
}

TEST_F(ScheduleTest, ScheduleEqualsTheDelaysSlept) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const Jitter jitter :
         {Jitter::Full(), Jitter::Equal(), Jitter::Proportional(0.5),
          Jitter::Decorrelated()}) {
      SimulatedClock clock;
      SleepRecorder recorder;
      WaitOptions options = {
          .timeout = absl::Minutes(3),
          .backoff = {.jitter = jitter},
          .hooks = {.observer = Unowned(recorder), .seed = seed},
          .clock = &clock};
      SplitMix64 gen(seed);

      const absl::StatusOr<std::vector<absl::Duration>> schedule =
          Schedule(options, gen);
      (void)Waiter([] { return PollStatus::kNotReady; }, options).Wait();

      ASSERT_TRUE(schedule.ok());
      ASSERT_FALSE(recorder.delays.empty());
      EXPECT_EQ(*schedule, recorder.delays) << "seed " << seed;
    }
  }
}

TEST_F(ScheduleTest, ScheduleEndsAfterMaxDelays) {
  EXPECT_THAT(*Schedule({.timeout = absl::InfiniteDuration()}, gen_, 7),
              SizeIs(7));
}

TEST_F(ScheduleTest, DelaysOfZeroCount) {
  EXPECT_THAT(*Schedule({.timeout = absl::Seconds(1),
                         .max_attempts = 4,
                         .backoff = {.initial_delay = absl::ZeroDuration()}},
                        gen_),
              AllOf(SizeIs(3), Each(absl::ZeroDuration())));
}

TEST_F(ScheduleTest, ScheduleFollowsTheCurveOfTheStatus) {
  EXPECT_THAT(
      *Schedule(
          {.timeout = absl::Hours(1),
           .max_attempts = 3,
           .errors = {.server_error_backoff = {.initial_delay =
                                                   absl::Seconds(3),
                                               .jitter = Jitter::None()}}},
          gen_, 1000, ServerError()),
      ElementsAre(absl::Seconds(3), absl::Seconds(6)));
}

TEST_F(ScheduleTest, InvalidOptionsAreAnError) {
  EXPECT_EQ(Schedule({}, gen_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ScheduleTest, LeavesSharedBudgetsAlone) {
  WaitOptions options = {.timeout = absl::Minutes(1)};
  options.budgets.retry_quota = *RetryQuota::Make({.capacity = 28});
  options.budgets.rate_limiter = *AdaptiveRateLimiter::Make({});

  const auto schedule =
      Schedule(options, gen_, /*max_delays=*/100, PollStatus::kServerError);

  ASSERT_TRUE(schedule.ok());
  EXPECT_THAT(*schedule, SizeIs(2));  // As many retries as the quota pays for.
  EXPECT_EQ(options.budgets.retry_quota->Available(MonotonicTime()), 28);
}

// The sum of the delay and the refill would overflow.
TEST_F(ScheduleTest, QuotaThatRefillsBeyondAllTimeEndsTheWait) {
  WaitOptions options = {.timeout = absl::InfiniteDuration()};
  options.budgets.retry_quota =
      RetryQuota::Make({.capacity = 1,
                        .retry_cost = 1,
                        .timeout_cost = 1,
                        .throttle_cost = 1,
                        .refill_per_second = 1e-10,
                        .when_spent = RetryQuotaOptions::WhenSpent::kWait})
          .value();
  const auto delays =
      Schedule(options, gen_, /*max_delays=*/4, PollStatus::kServerError);

  ASSERT_TRUE(delays.ok());
  EXPECT_EQ(delays->size(), 1);
}

// A schedule is a calculation, not a wait of the program.
TEST_F(ScheduleTest, SavesNothing) {
  int saved = 0;
  const auto delays =
      Schedule({.timeout = absl::Minutes(1),
                .hooks = {.on_checkpoint =
                              [&](const WaitToken& /*token*/) { ++saved; }}},
               gen_, /*max_delays=*/4, PollStatus::kNotReady);

  ASSERT_TRUE(delays.ok());
  EXPECT_EQ(saved, 0);
}

TEST_F(ScheduleTest, IsNotObserved) {
  class Starts : public WaitObserver {
   public:
    void OnStart(const StartEvent& /*start*/) override { ++count; }
    int count = 0;
  };
  const auto starts = std::make_shared<Starts>();
  ObserveEveryWait(starts);
  const auto delays = Schedule({.timeout = absl::Minutes(1)}, gen_,
                               /*max_delays=*/4, PollStatus::kNotReady);
  ObserveEveryWait(nullptr);

  ASSERT_TRUE(delays.ok());
  EXPECT_EQ(starts->count, 0);
}

}  // namespace
}  // namespace waiter::schedule_test
