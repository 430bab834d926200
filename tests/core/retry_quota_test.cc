// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/limiters.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"

namespace waiter::retry_quota_test {
namespace {

using ::std::chrono::hours;
using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::std::chrono::seconds;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Optional;
using WhenSpent = RetryQuotaOptions::WhenSpent;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RetryQuotaTest, DefaultsAreThoseOf2026) {
  const auto quota = MakeQuota({});
  QuotaToken token;

  EXPECT_EQ(quota->Available(kStart), 500);
  quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
  EXPECT_EQ(quota->Available(kStart), 500);
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  EXPECT_EQ(quota->Available(kStart), 486);
  quota->Acquire(QuotaUse::kTimeout, kStart, token);
  EXPECT_EQ(quota->Available(kStart), 472);
  quota->Acquire(QuotaUse::kThrottled, kStart, token);
  EXPECT_EQ(quota->Available(kStart), 467);
}

TEST(RetryQuotaTest, DepositAddsUpToTheCapacity) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota(
        {.capacity = 100, .refill_per_second = 10, .compatible = compatible});
    EXPECT_EQ(quota->Withdraw(60, kStart), 60);
    quota->Deposit(0, kStart);
    EXPECT_EQ(quota->Available(kStart), 40);
    quota->Deposit(50.25, kStart);
    EXPECT_EQ(quota->Available(kStart), 90.25);
    quota->Deposit(kInfinity, kStart);
    EXPECT_EQ(quota->Withdraw(kInfinity, kStart), 100);
    EXPECT_EQ(quota->Withdraw(kInfinity, kStart), 0);
    EXPECT_NEAR(quota->Available(kStart + seconds(2)), 20, 1e-6);
    quota->Deposit(95, kStart + seconds(2));
    EXPECT_NEAR(quota->Available(kStart + seconds(2)), 100, 1e-6);
  }
}

TEST(RetryQuotaTest, DepositShortensTheTurnOfLaterPollsAlone) {
  const auto quota = MakeQuota({.capacity = 10,
                                .retry_cost = 10,
                                .timeout_cost = 10,
                                .refill_per_second = 1,
                                .when_spent = WhenSpent::kWait});
  QuotaToken token;
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), kStart);
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token),
            kStart + seconds(10));
  EXPECT_NEAR(quota->Available(kStart), -10, 1e-6);
  // A quota in debt has nothing to withdraw.
  EXPECT_EQ(quota->Withdraw(5, kStart), 0);
  quota->Deposit(15, kStart);
  EXPECT_NEAR(quota->Available(kStart), 5, 1e-6);
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token),
            kStart + seconds(5));
}

TEST(RetryQuotaTest, WithdrawTakesWhatIsThereAndNothingOnCredit) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota({.capacity = 20,
                                  .retry_cost = 14,
                                  .refill_per_second = 1,
                                  .when_spent = WhenSpent::kWait,
                                  .compatible = compatible});
    EXPECT_EQ(quota->Withdraw(0, kStart), 0);
    EXPECT_EQ(quota->Withdraw(15, kStart), 15);
    EXPECT_EQ(quota->Withdraw(15, kStart), 5);
    EXPECT_EQ(quota->Withdraw(15, kStart), 0);
    EXPECT_EQ(quota->Withdraw(15, kStart + seconds(3)), 3);
    QuotaToken token;
    quota->Acquire(QuotaUse::kRetry, kStart + seconds(3), token);
    EXPECT_EQ(quota->Withdraw(15, kStart + seconds(4)), 0);
  }
}

TEST(RetryQuotaTest, LowMarkCallsForPaymentsThatLeaveLessAndForRefusals) {
  for (const bool compatible : {false, true}) {
    int calls = 0;
    const auto quota =
        *RetryQuota::Make({.capacity = 40, .compatible = compatible},
                          {.level = 12, .on_low = [&calls] { ++calls; }});
    QuotaToken token;
    quota->Acquire(QuotaUse::kRetry, kStart, token);
    quota->Acquire(QuotaUse::kRetry, kStart, token);
    EXPECT_EQ(calls, 0);  // 12 are left.
    quota->Acquire(QuotaUse::kThrottled, kStart, token);
    EXPECT_EQ(calls, 1);  // 7 are left.
    EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);
    EXPECT_EQ(calls, 2);
    quota->Acquire(QuotaUse::kFirstPoll, kStart, token);  // Free.
    quota->Refund(kStart, token);
    quota->Deposit(1, kStart);
    quota->Withdraw(100, kStart);
    EXPECT_EQ(calls, 2);
  }
}

TEST(RetryQuotaTest, LowMarkMayUseTheQuota) {
  for (const bool compatible : {false, true}) {
    for (const double supply : {0.0, 100.0}) {
      std::shared_ptr<RetryQuota> quota;
      bool is_inside = false;
      const auto on_low = [&] {
        if (std::exchange(is_inside, true)) return;
        EXPECT_LE(quota->Available(kStart), 100);
        quota->Deposit(supply, kStart);
        EXPECT_EQ(quota->Withdraw(1, kStart), 1);
        QuotaToken token;
        quota->Acquire(QuotaUse::kRetry, kStart, token);
        quota->Refund(kStart, token);
        is_inside = false;
      };
      quota = *RetryQuota::Make({.capacity = 100, .compatible = compatible},
                                {.level = 10, .on_low = on_low});
      quota->Withdraw(90, kStart);
      QuotaToken token;
      // This is refused, but `on_low` may supply the next one.
      EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);
      EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token).has_value(),
                supply > 0);
    }
  }
}

TEST(RetryQuotaTest, TokenThatWasSavedStandsForTheSameCost) {
  constexpr std::array kUses = {QuotaUse::kFirstPoll, QuotaUse::kRetry,
                                QuotaUse::kTimeout, QuotaUse::kThrottled};
  constexpr std::array kCosts = {2, 3, 5, 7};
  for (size_t i = 0; i < kUses.size(); ++i) {
    const auto quota = MakeQuota({.capacity = 100,
                                  .initial_cost = 2,
                                  .success_increment = 1,
                                  .retry_cost = 3,
                                  .timeout_cost = 5,
                                  .throttle_cost = 7});
    quota->Withdraw(50, kStart);
    QuotaToken token;
    ASSERT_TRUE(quota->Acquire(kUses[i], kStart, token).has_value());
    EXPECT_EQ(token.ToByte(), i);
    const double paid = quota->Available(kStart);
    EXPECT_EQ(paid, 50 - kCosts[i]);
    // Restored twice, as in two processes if one of them crashes.
    QuotaToken released = *QuotaToken::FromByte(token.ToByte());
    QuotaToken refunded = *QuotaToken::FromByte(token.ToByte());
    quota->Refund(kStart, refunded);
    quota->Refund(kStart, refunded);
    quota->Release(kStart, refunded);
    EXPECT_EQ(quota->Available(kStart), 50);
    quota->Release(kStart, released);
    quota->Release(kStart, released);
    quota->Refund(kStart, released);
    EXPECT_EQ(quota->Available(kStart), 50 + (i == 0 ? 1 : kCosts[i]));
  }
  EXPECT_EQ(QuotaToken().ToByte(), 4);
  EXPECT_EQ(QuotaToken::FromByte(4)->ToByte(), 4);
  for (int byte = 5; byte < 256; ++byte) {
    EXPECT_EQ(QuotaToken::FromByte(static_cast<uint8_t>(byte)), std::nullopt);
  }
}

TEST(RetryQuotaTest, TokenIsOneByte) { static_assert(sizeof(QuotaToken) == 1); }

TEST(RetryQuotaTest, RestPaysForAPollAndStaysSpent) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota({.capacity = 20,
                                  .retry_cost = 14,
                                  .throttle_cost = 0,
                                  .when_spent = WhenSpent::kTakeRest,
                                  .compatible = compatible});
    QuotaToken token;
    ASSERT_THAT(quota->Acquire(QuotaUse::kRetry, kStart, token),
                Optional(kStart));
    ASSERT_EQ(quota->Available(kStart), 6);

    EXPECT_THAT(quota->Acquire(QuotaUse::kRetry, kStart, token),
                Optional(kStart));
    EXPECT_EQ(quota->Available(kStart), 0);
    EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);
    EXPECT_THAT(quota->Acquire(QuotaUse::kThrottled, kStart, token),
                Optional(kStart));

    QuotaToken restored = *QuotaToken::FromByte(token.ToByte());
    quota->Release(kStart, restored);
    quota->Refund(kStart, restored);
    quota->Release(kStart, token);
    quota->Refund(kStart, token);
    EXPECT_EQ(quota->Available(kStart), 0);
  }
}

// An hour brings 3 of the 14 tokens. After these are taken, none are left.
TEST(RetryQuotaTest, RestIncludesTheRefill) {
  const auto quota = MakeQuota({.capacity = 14,
                                .refill_per_second = 3.0 / 3600,
                                .when_spent = WhenSpent::kTakeRest});
  QuotaToken token;
  ASSERT_NE(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);

  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);
  EXPECT_THAT(quota->Acquire(QuotaUse::kRetry, kStart + hours(1), token),
              Optional(kStart + hours(1)));
  EXPECT_THAT(quota->Available(kStart + hours(1)), DoubleNear(0, 1e-6));
  EXPECT_THAT(quota->Available(kStart + hours(2)), DoubleNear(3, 1e-6));
}

// A rest that does not pay in full must not count as the payment before it.
TEST(RetryQuotaTest, RestForgetsAnEarlierPayment) {
  const auto quota = MakeQuota(
      {.capacity = 15, .retry_cost = 14, .when_spent = WhenSpent::kTakeRest});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  ASSERT_EQ(quota->Available(kStart), 0);

  quota->Release(kStart, token);
  EXPECT_EQ(quota->Available(kStart), 0);
}

TEST(RetryQuotaTest, FirstSuccessGivesTheIncrementUpToTheCapacity) {
  const auto quota = MakeQuota({.capacity = 10, .retry_cost = 2});
  QuotaToken failed;
  quota->Acquire(QuotaUse::kRetry, kStart, failed);
  std::vector<double> available;
  for (int i = 0; i < 3; ++i) {
    QuotaToken token;
    quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
    quota->Release(kStart, token);
    available.push_back(quota->Available(kStart));
  }

  EXPECT_THAT(available, testing::ElementsAre(9, 10, 10));
}

TEST(RetryQuotaTest, UnusedTokenGivesNothing) {
  const auto quota = MakeQuota({.capacity = 20});
  QuotaToken used;
  quota->Acquire(QuotaUse::kRetry, kStart, used);

  QuotaToken unused;
  quota->Release(kStart, unused);
  quota->Refund(kStart, unused);

  EXPECT_EQ(quota->Available(kStart), 6);
}

TEST(RetryQuotaTest, RefusalTakesNothingAndKeepsTheToken) {
  const auto quota = MakeQuota({.capacity = 20, .timeout_cost = 7});
  QuotaToken token;
  ASSERT_TRUE(quota->Acquire(QuotaUse::kRetry, kStart, token).has_value());

  EXPECT_EQ(quota->Acquire(QuotaUse::kTimeout, kStart, token), std::nullopt);
  EXPECT_EQ(quota->Available(kStart), 6);

  quota->Release(kStart, token);
  EXPECT_EQ(quota->Available(kStart), 20);
}

TEST(RetryQuotaTest, FreePollsDoNotQueue) {
  const auto quota =
      MakeQuota({.refill_per_second = 1, .when_spent = WhenSpent::kWait});
  QuotaToken token;
  for (int i = 0; i < 100; ++i) {
    quota->Acquire(QuotaUse::kRetry, kStart, token);
  }
  ASSERT_NEAR(quota->Available(kStart), -900, 1e-6);

  EXPECT_THAT(quota->Acquire(QuotaUse::kFirstPoll, kStart, token),
              Optional(kStart));
}

TEST(RetryQuotaTest, EmptyQuotaRefusesEveryRetryButNotTheFirstPoll) {
  const auto quota = MakeQuota({.capacity = 0});
  QuotaToken token;

  EXPECT_THAT(quota->Acquire(QuotaUse::kFirstPoll, kStart, token),
              Optional(kStart));
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);
}

TEST(RetryQuotaTest, FractionsOfRefillAreKept) {
  const auto quota = MakeQuota({.capacity = 10,
                                .retry_cost = 10,
                                .throttle_cost = 0.001,
                                .refill_per_second = 3});
  QuotaToken token;
  MonotonicTime now = kStart;
  ASSERT_TRUE(quota->Acquire(QuotaUse::kRetry, now, token).has_value());
  for (int i = 0; i < 1000; ++i) {
    now += milliseconds(1);
    ASSERT_TRUE(quota->Acquire(QuotaUse::kThrottled, now, token).has_value());
    quota->Release(now, token);
  }

  EXPECT_THAT(quota->Available(now), DoubleNear(3, 1e-7));
}

TEST(RetryQuotaTest, RefillStopsAtTheCapacity) {
  const auto quota =
      MakeQuota({.capacity = 20, .retry_cost = 15, .refill_per_second = 1});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);

  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart + seconds(9), token),
            std::nullopt);
  EXPECT_NEAR(quota->Available(kStart + hours(1)), 20, 1e-6);
  EXPECT_TRUE(quota->Acquire(QuotaUse::kRetry, kStart + hours(1), token));
  EXPECT_NEAR(quota->Available(kStart + hours(1)), 5, 1e-6);
}

TEST(RetryQuotaTest, WaitersAreServedFirstComeFirstServed) {
  const auto quota = MakeQuota({.capacity = 4,
                                .retry_cost = 4,
                                .timeout_cost = 4,
                                .throttle_cost = 1,
                                .refill_per_second = 2,
                                .when_spent = WhenSpent::kWait});
  std::vector<QuotaToken> tokens(4);
  std::vector<milliseconds> starts;
  for (const auto& [use, ms] :
       std::vector<std::pair<QuotaUse, int>>{{QuotaUse::kRetry, 0},
                                             {QuotaUse::kRetry, 0},
                                             {QuotaUse::kThrottled, 500},
                                             {QuotaUse::kRetry, 500}}) {
    const MonotonicTime now = kStart + milliseconds(ms);
    starts.push_back(std::chrono::round<milliseconds>(
        *quota->Acquire(use, now, tokens[starts.size()]) - kStart));
  }

  // The third waiter does not overtake the second, although it is cheaper.
  EXPECT_THAT(starts,
              testing::ElementsAre(milliseconds(0), milliseconds(2000),
                                   milliseconds(2500), milliseconds(4500)));
}

TEST(RetryQuotaTest, CancelledWaiterLeavesItsTurnToTheNext) {
  const auto quota = MakeQuota({.capacity = 4,
                                .initial_cost = 4,
                                .retry_cost = 4,
                                .timeout_cost = 4,
                                .throttle_cost = 4,
                                .refill_per_second = 2,
                                .when_spent = WhenSpent::kWait});
  QuotaToken token;
  QuotaToken cancelled;
  QuotaToken next;
  quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
  quota->Acquire(QuotaUse::kFirstPoll, kStart, cancelled);
  ASSERT_NEAR(quota->Available(kStart), -4, 1e-6);

  quota->Refund(kStart, cancelled);

  EXPECT_NEAR(quota->Available(kStart), 0, 1e-6);
  const MonotonicTime start = *quota->Acquire(QuotaUse::kRetry, kStart, next);
  EXPECT_EQ(std::chrono::round<milliseconds>(start - kStart), seconds(2));
}

TEST(RetryQuotaTest, WaitEndsExactlyWhenTheRefillCoversTheCost) {
  const auto quota = MakeQuota(
      {.capacity = 20, .refill_per_second = 3, .when_spent = WhenSpent::kWait});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  const MonotonicTime start = *quota->Acquire(QuotaUse::kRetry, kStart, token);

  EXPECT_NEAR(static_cast<double>(nanoseconds(start - kStart).count()), 8e9 / 3,
              2);
  EXPECT_NEAR(quota->Available(start), 0, 1e-8);
}

TEST(RetryQuotaTest, CompatibleWaitersQueueBehindTheSleeper) {
  const auto quota = MakeQuota({.capacity = 10,
                                .retry_cost = 10,
                                .timeout_cost = 4,
                                .throttle_cost = 0,
                                .refill_per_second = 3,
                                .when_spent = WhenSpent::kWait,
                                .compatible = true});
  QuotaToken token;
  const auto start = [&](QuotaUse use) {
    return *quota->Acquire(use, kStart, token) - kStart;
  };

  EXPECT_EQ(start(QuotaUse::kRetry), seconds(0));
  EXPECT_EQ(start(QuotaUse::kRetry), seconds(4));
  EXPECT_EQ(start(QuotaUse::kTimeout), seconds(6));
  EXPECT_EQ(start(QuotaUse::kThrottled), seconds(6));
  quota->Release(kStart, token);
}

TEST(RetryQuotaTest, CompatibleShortfallOfOneTokenIsWaitedFor) {
  const auto quota = MakeQuota({.capacity = 1,
                                .retry_cost = 1,
                                .timeout_cost = 1,
                                .throttle_cost = 1,
                                .refill_per_second = 1,
                                .when_spent = WhenSpent::kWait,
                                .compatible = true});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);

  EXPECT_THAT(quota->Acquire(QuotaUse::kRetry, kStart, token),
              Optional(kStart + seconds(1)));
}

// The refill counts in whole tokens since the last change.
TEST(RetryQuotaTest, CompatibleReleaseOfNothingLosesNoRefill) {
  const auto quota = MakeQuota({.capacity = 10,
                                .retry_cost = 10,
                                .refill_per_second = 3,
                                .compatible = true});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);

  QuotaToken unused;
  quota->Release(kStart + milliseconds(500), unused);

  EXPECT_EQ(quota->Available(kStart + seconds(1)), 3);
}

// The quota has 50 of 100 tokens. In one second it refills 10, and gets 10 back
// from a success.
TEST(RetryQuotaTest, CompatibleRefillUntilAReleaseCountsOnce) {
  const auto quota = MakeQuota({.capacity = 100,
                                .retry_cost = 10,
                                .refill_per_second = 10,
                                .compatible = true});
  QuotaToken token;
  for (int i = 0; i < 5; ++i) {
    quota->Acquire(QuotaUse::kRetry, kStart, token);
  }
  ASSERT_EQ(quota->Available(kStart), 50);

  quota->Release(kStart + seconds(1), token);

  EXPECT_EQ(quota->Available(kStart + seconds(1)), 70);
  EXPECT_EQ(quota->Available(kStart + seconds(2)), 80);
}

// A release with an old time must not count the refill since then again.
TEST(RetryQuotaTest, CompatibleReleaseInThePastCreatesNoTokens) {
  const auto quota = MakeQuota({.capacity = 100,
                                .retry_cost = 50,
                                .refill_per_second = 10,
                                .compatible = true});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  quota->Acquire(QuotaUse::kRetry, kStart + seconds(1), token);
  ASSERT_EQ(quota->Available(kStart + seconds(1)), 10);

  quota->Release(kStart, token);

  EXPECT_EQ(quota->Available(kStart + seconds(1)), 60);
}

TEST(RetryQuotaTest, CrossingReadingsOfTimeCreateNoTokens) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota({.capacity = 10,
                                  .retry_cost = 1,
                                  .refill_per_second = 1,
                                  .compatible = compatible});
    QuotaToken token;
    int granted = 0;
    for (int i = 0; i < 100; ++i) {
      const MonotonicTime now = kStart - milliseconds(i % 2);
      if (quota->Acquire(QuotaUse::kRetry, now, token)) ++granted;
    }

    EXPECT_EQ(granted, 10) << compatible;
  }
}

TEST(RetryQuotaTest, WaitBeyondAllTimeEndsAtTheEndOfTime) {
  const auto quota = MakeQuota({.capacity = 14,
                                .refill_per_second = 1e-300,
                                .when_spent = WhenSpent::kWait});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);

  EXPECT_THAT(quota->Acquire(QuotaUse::kRetry, kStart, token),
              Optional(MonotonicTime::max()));
}

TEST(RetryQuotaTest, InvalidOptionsAreNamedWithTheirValue) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    RetryQuotaOptions options;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {{.capacity = -1}, "capacity is -1; it must be finite"},
      {{.capacity = kInfinity}, "capacity is inf"},
      {{.initial_cost = kNan}, "initial_cost is nan"},
      {{.success_increment = -2}, "success_increment is -2"},
      {{.retry_cost = kNan}, "retry_cost is nan"},
      {{.timeout_cost = -3}, "timeout_cost is -3"},
      {{.throttle_cost = kInfinity}, "throttle_cost is inf"},
      {{.refill_per_second = -0.5}, "refill_per_second is -0.5"},
      {{.capacity = 3, .initial_cost = 4},
       "initial_cost is 4; it must be at most capacity, 3"},
      {{.when_spent = WhenSpent::kWait},
       "refill_per_second is 0; it must be above zero"},
      {{.capacity = 13, .refill_per_second = 1, .when_spent = WhenSpent::kWait},
       "retry_cost is 14; it must be at most capacity, 13"},
      {{.timeout_cost = 501,
        .refill_per_second = 1,
        .when_spent = WhenSpent::kWait},
       "timeout_cost is 501"},
      {{.throttle_cost = 501,
        .refill_per_second = 1,
        .when_spent = WhenSpent::kWait},
       "throttle_cost is 501"},
  };
  for (const auto& [options, message] : cases) {
    EXPECT_THAT(RetryQuota::Make(options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(message))));
  }
}

TEST(RetryQuotaTest, BoundsOfOptionsAreValid) {
  EXPECT_TRUE(Validate(RetryQuotaOptions{.capacity = 0}).ok());
  EXPECT_TRUE(Validate(RetryQuotaOptions{.initial_cost = 500,
                                         .success_increment = 0,
                                         .retry_cost = 0,
                                         .timeout_cost = 0,
                                         .throttle_cost = 0})
                  .ok());
  EXPECT_TRUE(Validate(RetryQuotaOptions{.retry_cost = 501}).ok());
}

// Many threads that use one quota.

constexpr int kThreads = 64;

void RaiseTo(std::atomic<int>& most, int value) {
  int seen = most;
  while (seen < value && !most.compare_exchange_weak(seen, value)) {
  }
}

TEST(RetryQuotaThreadTest, SixtyFourThreadsLoseAndCreateNothing) {
  for (const bool compatible : {false, true}) {
    constexpr int kCapacity = 20;
    const auto quota = MakeQuota({.capacity = kCapacity,
                                  .retry_cost = 1,
                                  .throttle_cost = 3,
                                  .compatible = compatible});
    std::atomic<int> held = 0;
    std::atomic<int> most_held = 0;
    std::atomic<int> granted = 0;
    RunThreads(kThreads, [&](int thread) {
      const bool dear = thread % 2 == 0;
      const QuotaUse use = dear ? QuotaUse::kThrottled : QuotaUse::kRetry;
      const int cost = dear ? 3 : 1;
      for (int i = 0; i < 1000; ++i) {
        QuotaToken token;
        if (!quota->Acquire(use, kStart, token).has_value()) {
          std::this_thread::yield();
          continue;
        }
        RaiseTo(most_held, held += cost);
        ++granted;
        if (i % 16 == 0) std::this_thread::yield();
        held -= cost;
        if (i % 2 == 0) {
          quota->Release(kStart, token);
        } else {
          quota->Refund(kStart, token);
        }
      }
    });

    EXPECT_GT(granted, 0);
    EXPECT_LE(most_held, kCapacity) << compatible;
    EXPECT_EQ(quota->Available(kStart), kCapacity) << compatible;
  }
}

TEST(RetryQuotaThreadTest, DepositsWithdrawalsAndPaymentsLoseNothing) {
  for (const bool compatible : {false, true}) {
    std::atomic<int> low = 0;
    const auto quota =
        *RetryQuota::Make({.capacity = 1000, .compatible = compatible},
                          {.level = 990, .on_low = [&] { ++low; }});
    RunThreads(kThreads, [&](int thread) {
      double held = 0;
      for (int i = 0; i < 200; ++i) {
        QuotaToken token;
        if (quota->Acquire(QuotaUse::kRetry, kStart, token).has_value()) {
          if ((i + thread) % 2 == 0) {
            quota->Release(kStart, token);
          } else {
            quota->Refund(kStart, token);
          }
        }
        held += quota->Withdraw(i % 7, kStart);
        EXPECT_LE(quota->Available(kStart), 1000);
        if (i % 3 == 0) quota->Deposit(std::exchange(held, 0), kStart);
      }
      quota->Deposit(held, kStart);
    });

    EXPECT_NEAR(quota->Available(kStart), 1000, 1e-6);
    EXPECT_GT(low, 0);
  }
}

TEST(RetryQuotaThreadTest, QuotaGrantsItsLastTokenAndNoMore) {
  const auto quota = MakeQuota({.capacity = 10'000, .retry_cost = 1});
  std::atomic<int> granted = 0;
  RunThreads(kThreads, [&](int) {
    QuotaToken token;
    for (int i = 0; i < 1000; ++i) {
      if (quota->Acquire(QuotaUse::kRetry, kStart, token)) ++granted;
    }
  });

  EXPECT_EQ(granted, 10'000);
  EXPECT_EQ(quota->Available(kStart), 0);
}

// Each turn of the refill goes to exactly one waiter and never moves, so no
// waiter starves.
TEST(RetryQuotaThreadTest, SixtyFourWaitersGetEveryTurnOnceAndInOrder) {
  for (const bool compatible : {false, true}) {
    constexpr int kRounds = 50;
    const auto quota = MakeQuota({.capacity = 4,
                                  .retry_cost = 4,
                                  .timeout_cost = 4,
                                  .throttle_cost = 4,
                                  .refill_per_second = 4,
                                  .when_spent = WhenSpent::kWait,
                                  .compatible = compatible});
    std::vector<std::vector<MonotonicTime>> starts(kThreads);
    RunThreads(kThreads, [&](int thread) {
      QuotaToken token;
      for (int i = 0; i < kRounds; ++i) {
        starts[static_cast<size_t>(thread)].push_back(
            *quota->Acquire(QuotaUse::kRetry, kStart, token));
        if (i % 8 == 0) std::this_thread::yield();
      }
    });

    std::vector<MonotonicTime> all;
    for (const std::vector<MonotonicTime>& mine : starts) {
      EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
      all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), kThreads * kRounds);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(std::chrono::duration<double>(all[i] - kStart).count(),
                  static_cast<double>(i), 1e-6)
          << compatible;
    }
  }
}

// Otherwise a little refill between any two polls would pay for each of them.
TEST(RetryQuotaTest, RestOfLessThanATokenIsRefused) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota({.capacity = 14,
                                  .refill_per_second = 1,
                                  .when_spent = WhenSpent::kTakeRest,
                                  .compatible = compatible});
    QuotaToken token;
    quota->Acquire(QuotaUse::kRetry, kStart, token);

    EXPECT_EQ(
        quota->Acquire(QuotaUse::kRetry, kStart + milliseconds(900), token),
        std::nullopt);
    EXPECT_NE(
        quota->Acquire(QuotaUse::kRetry, kStart + milliseconds(1100), token),
        std::nullopt);
  }
}

}  // namespace
}  // namespace waiter::retry_quota_test
