// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
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
#include "tests/support/joining_thread.h"
#include "tests/support/json.h"
#include "tests/support/status_matchers.h"
#include "tests/support/vectors.h"
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

// A start after some uptime, so that nothing relies on a clock that starts at
// 0.
constexpr MonotonicTime kStart{hours(1000)};

std::shared_ptr<RetryQuota> MakeQuota(const RetryQuotaOptions& options) {
  return RetryQuota::Make(options).value();
}

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
  const auto quota = MakeQuota({.capacity = 100});
  EXPECT_EQ(quota->Withdraw(60, kStart), 60);
  quota->Deposit(50, kStart);
  EXPECT_EQ(quota->Available(kStart), 90);
  quota->Deposit(50, kStart);
  EXPECT_EQ(quota->Available(kStart), 100);
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
  int calls = 0;
  const auto quota =
      *RetryQuota::Make({.capacity = 40, .retry_cost = 14},
                        {.level = 20, .on_low = [&calls] { ++calls; }});
  QuotaToken token;
  quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  EXPECT_EQ(calls, 0);  // 26 are left.
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  EXPECT_EQ(calls, 1);  // 12 are left.
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kStart, token), std::nullopt);
  EXPECT_EQ(calls, 2);
  quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
  EXPECT_EQ(calls, 2);  // That was free.
}

TEST(RetryQuotaTest, TokenThatWasSavedStandsForTheSameCost) {
  const auto quota = MakeQuota({.capacity = 100, .retry_cost = 14});
  QuotaToken token;
  quota->Acquire(QuotaUse::kRetry, kStart, token);

  std::optional<QuotaToken> restored = QuotaToken::FromByte(token.ToByte());
  ASSERT_TRUE(restored.has_value());
  quota->Release(kStart, *restored);

  EXPECT_EQ(quota->Available(kStart), 100);
  EXPECT_EQ(QuotaToken().ToByte(), 4);
  EXPECT_EQ(QuotaToken::FromByte(5), std::nullopt);
}

TEST(RetryQuotaTest, TokenIsOneByte) { static_assert(sizeof(QuotaToken) == 1); }

TEST(RetryQuotaTest, LastCostIsRefundedOnlyOnce) {
  const auto quota = MakeQuota({.capacity = 100});
  QuotaToken token;
  quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
  quota->Acquire(QuotaUse::kRetry, kStart, token);
  quota->Acquire(QuotaUse::kThrottled, kStart, token);
  ASSERT_EQ(quota->Available(kStart), 81);

  quota->Release(kStart, token);
  EXPECT_EQ(quota->Available(kStart), 86);
  quota->Release(kStart, token);
  quota->Refund(kStart, token);
  EXPECT_EQ(quota->Available(kStart), 86);
}

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

TEST(RetryQuotaTest, RefundGivesTheCostBackOnlyOnce) {
  const auto quota = MakeQuota({.capacity = 100});
  QuotaToken first;
  QuotaToken second;
  quota->Acquire(QuotaUse::kRetry, kStart, first);
  quota->Acquire(QuotaUse::kRetry, kStart, second);
  ASSERT_EQ(quota->Available(kStart), 72);

  quota->Refund(kStart, first);
  quota->Refund(kStart, first);

  EXPECT_EQ(quota->Available(kStart), 86);
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
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
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

// Reference vectors.

RetryQuotaOptions OptionsFrom(const Json& config, RetryQuotaOptions options) {
  options.capacity = config.number_or("max_capacity", options.capacity);
  options.initial_cost =
      config.number_or("initial_try_cost", options.initial_cost);
  options.success_increment = config.number_or("initial_try_success_increment",
                                               options.success_increment);
  options.refill_per_second =
      config.number_or("refill_units_per_second", options.refill_per_second);
  options.retry_cost = config.number_or("retry_cost", options.retry_cost);
  options.timeout_cost =
      config.number_or("timeout_retry_cost", options.timeout_cost);
  options.throttle_cost = options.timeout_cost;
  if (config.has("use_circuit_breaker_mode")) {
    options.when_spent = config["use_circuit_breaker_mode"].boolean()
                             ? WhenSpent::kRefuse
                             : WhenSpent::kWait;
  }
  options.compatible = true;
  return options;
}

// Charges a transient error like any other, as the rules of 2026 do.
RetryQuotaOptions OptionsOf2026From(const Json& config) {
  RetryQuotaOptions options = OptionsFrom(config, {});
  options.timeout_cost = options.retry_cost;
  return options;
}

QuotaUse UseFor(std::string_view error) {
  if (error == "Throttling") return QuotaUse::kThrottled;
  return error == "Transient" ? QuotaUse::kTimeout : QuotaUse::kRetry;
}

void PlaySteps(RetryQuota& quota, const Json& steps) {
  MonotonicTime now = kStart;
  QuotaToken token;
  for (const Json& step : steps.array()) {
    const std::string& op = step["op"].string();
    if (step.has("capacity_before")) {
      EXPECT_EQ(quota.Available(now), step["capacity_before"].number());
    }
    if (op == "advance_ms") {
      now += milliseconds(static_cast<int>(step["value"].number()));
    } else if (op == "success") {
      quota.Release(now, token);
    } else if (op == "failure") {
      token = {};
    } else {
      const std::optional<MonotonicTime> start =
          quota.Acquire(op == "acquire" ? QuotaUse::kFirstPoll
                                        : UseFor(step["error"].string()),
                        now, token);
      EXPECT_EQ(start.has_value(), !step.has("throws"));
      if (start.has_value()) {
        EXPECT_EQ(*start - now,
                  seconds(static_cast<int>(step.number_or("wait_s", 0))));
        now = *start;
      }
    }
    if (step.has("capacity_after")) {
      EXPECT_EQ(quota.Available(now), step["capacity_after"].number());
    }
  }
}

class RetryQuotaVectorsTest : public testing::Test {
 protected:
  static VectorFile& File() {
    static VectorFile file("kotlin_token_bucket.json", /*cases=*/15);
    return file;
  }
  static void TearDownTestSuite() { File().Report(); }
};

TEST_F(RetryQuotaVectorsTest, Cases) {
  File().Describes({"source", "test_config"});
  const RetryQuotaOptions base = OptionsFrom(File()["test_config"], {});
  for (const Json& test : File()["cases"].array()) {
    SCOPED_TRACE(test["name"].string());
    if (test.has("by_error")) {
      for (const auto& [error, cost] : test["by_error"].object()) {
        const auto quota = MakeQuota(base);
        QuotaToken token;
        quota->Acquire(QuotaUse::kFirstPoll, kStart, token);
        EXPECT_EQ(quota->Available(kStart), test["capacity_before"].number());
        quota->Acquire(UseFor(error), kStart, token);
        EXPECT_EQ(quota->Available(kStart),
                  test["capacity_before"].number() - cost.number());
      }
    } else if (test.has("profile")) {
      PlaySteps(*MakeQuota(test["profile"].string() == "2026"
                               ? OptionsOf2026From(File()["defaults_2026"])
                               : OptionsFrom(File()["defaults_legacy"], {})),
                test["steps"]);
    } else {
      PlaySteps(*MakeQuota(OptionsFrom(test["config"], base)), test["steps"]);
    }
    File().Ran(test);
  }
}

TEST_F(RetryQuotaVectorsTest, Defaults) {
  for (const std::string_view name :
       {"defaults_legacy", "defaults_2026", "defaults_pre_2023"}) {
    SCOPED_TRACE(name);
    const Json& profile = File()[name];
    const double capacity = profile["max_capacity"].number();
    const auto quota = MakeQuota(OptionsFrom(profile, {}));
    QuotaToken first;
    QuotaToken token;

    ASSERT_TRUE(
        quota->Acquire(QuotaUse::kFirstPoll, kStart, first).has_value());
    EXPECT_EQ(quota->Available(kStart),
              capacity - profile["initial_try_cost"].number());
    // The success of a first poll adds the increment, as far as it fits.
    ASSERT_TRUE(quota->Acquire(QuotaUse::kRetry, kStart, token).has_value());
    quota->Release(kStart, first);
    double expected = capacity - profile["retry_cost"].number() +
                      profile["initial_try_success_increment"].number();
    EXPECT_EQ(quota->Available(kStart), expected);
    ASSERT_TRUE(quota->Acquire(QuotaUse::kTimeout, kStart, token).has_value());
    expected -= profile["timeout_retry_cost"].number();
    EXPECT_EQ(quota->Available(kStart), expected);
    EXPECT_EQ(quota->Available(kStart + seconds(1)),
              std::min(capacity,
                       expected + profile["refill_units_per_second"].number()));
    // A spent quota refuses, or says when it has refilled.
    std::optional<MonotonicTime> start = kStart;
    for (int i = 0; start == kStart && i < 1000; ++i) {
      start = quota->Acquire(QuotaUse::kRetry, kStart, token);
    }
    EXPECT_NE(start, kStart);
    EXPECT_EQ(start.has_value(),
              !profile["use_circuit_breaker_mode"].boolean());
    File().Ran(profile);
  }
}

TEST_F(RetryQuotaVectorsTest, DefaultsOf2026AreOurs) {
  const RetryQuotaOptions of_2026 = OptionsOf2026From(File()["defaults_2026"]);
  const RetryQuotaOptions ours;
  EXPECT_EQ(of_2026.capacity, ours.capacity);
  EXPECT_EQ(of_2026.initial_cost, ours.initial_cost);
  EXPECT_EQ(of_2026.success_increment, ours.success_increment);
  EXPECT_EQ(of_2026.retry_cost, ours.retry_cost);
  EXPECT_EQ(of_2026.timeout_cost, ours.timeout_cost);
  EXPECT_EQ(of_2026.throttle_cost, ours.throttle_cost);
  EXPECT_EQ(of_2026.refill_per_second, ours.refill_per_second);
  EXPECT_EQ(of_2026.when_spent, ours.when_spent);
}

TEST_F(RetryQuotaVectorsTest, Quirks) {
  const RetryQuotaOptions base = OptionsFrom(File()["test_config"], {});
  for (const Json& test : File()["derived"].array()) {
    const std::string& name = test["name"].string();
    SCOPED_TRACE(name);
    RetryQuotaOptions options = OptionsFrom(test["config"], base);
    MonotonicTime now = kStart;
    QuotaToken token;
    if (name == "DelayModeCeilSeconds") {
      options.initial_cost =
          options.capacity - test["state"]["capacity"].number();
      options.retry_cost = test["op"]["checkout"].number();
      const auto quota = MakeQuota(options);
      quota->Acquire(QuotaUse::kFirstPoll, now, token);
      const MonotonicTime start = *quota->Acquire(QuotaUse::kRetry, now, token);
      EXPECT_EQ(start - now,
                seconds(static_cast<int>(test["wait_s"].number())));
      EXPECT_EQ(quota->Available(start), test["capacity_after"].number());
    } else if (name == "RefillFloor" || name == "RefillFractionLost") {
      options.initial_cost = 5;
      options.retry_cost = 0;
      const auto quota = MakeQuota(options);
      quota->Acquire(QuotaUse::kFirstPoll, now, token);
      const bool once = test["elapsed_ms"].is_number();
      const size_t steps = once ? 1 : test["elapsed_ms"].array().size();
      for (size_t i = 0; i < steps; ++i) {
        const int index = static_cast<int>(i);
        const Json& elapsed =
            once ? test["elapsed_ms"] : test["elapsed_ms"][index];
        const Json& refill = once ? test["refill"] : test["refill"][index];
        const double before = quota->Available(now);
        now += milliseconds(static_cast<int>(elapsed.number()));
        quota->Acquire(QuotaUse::kRetry, now, token);
        EXPECT_EQ(quota->Available(now) - before, refill.number());
      }
    } else if (name == "CircuitBreakerRefillDoubleCount") {
      options.initial_cost = options.capacity;
      options.retry_cost = test["ops"][0]["checkout"].number();
      const auto quota = MakeQuota(options);
      quota->Acquire(QuotaUse::kFirstPoll, now, token);
      ASSERT_EQ(quota->Available(now), test["state"]["capacity"].number());
      const double elapsed = test["state"]["elapsed_s"].number();
      now += seconds(static_cast<int>(elapsed));
      EXPECT_EQ(quota->Available(now),
                test["ops"][0]["capacity_after"].number());
      EXPECT_FALSE(quota->Acquire(QuotaUse::kRetry, now, token).has_value());
      // The next operation counts the same refill once more.
      EXPECT_EQ(quota->Available(now),
                test["ops"][0]["capacity_after"].number() + elapsed);
      EXPECT_TRUE(quota->Acquire(QuotaUse::kRetry, now, token).has_value());
      EXPECT_EQ(quota->Available(now),
                test["ops"][1]["capacity_after"].number());
    } else {
      ADD_FAILURE() << "unknown case";
    }
    File().Ran(test);
  }
}

// Many threads that use one quota.

constexpr int kThreads = 64;

template <typename Function>
void RunThreads(const Function& function) {
  std::latch start(kThreads);
  std::vector<JoiningThread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      function(i);
    });
  }
}

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
    RunThreads([&](int thread) {
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

TEST(RetryQuotaThreadTest, QuotaGrantsItsLastTokenAndNoMore) {
  const auto quota = MakeQuota({.capacity = 10'000, .retry_cost = 1});
  std::atomic<int> granted = 0;
  RunThreads([&](int) {
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
    RunThreads([&](int thread) {
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
