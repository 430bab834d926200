// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Promises of budgets.h.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::budget_promises_test {
namespace {

using ::std::chrono::milliseconds;
using ::std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using WhenSpent = RetryQuotaOptions::WhenSpent;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr MonotonicTime kNow{seconds(1000)};

std::shared_ptr<RetryQuota> MakeQuota(const RetryQuotaOptions& options,
                                      QuotaLowMark low_mark = {}) {
  return *RetryQuota::Make(options, std::move(low_mark));
}

// The bytes of tokens.

TEST(QuotaTokenTest, EveryByteIsATokenOrNone) {
  int tokens = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const auto token = QuotaToken::FromByte(static_cast<uint8_t>(byte));
    if (!token.has_value()) continue;
    ++tokens;
    EXPECT_EQ(token->ToByte(), byte);
    const auto quota = MakeQuota({.capacity = 100,
                                  .initial_cost = 2,
                                  .success_increment = 1,
                                  .retry_cost = 3,
                                  .timeout_cost = 5,
                                  .throttle_cost = 7});
    quota->Withdraw(50, kNow);
    // Twice each, as two processes do if one of them dies.
    for (int times = 1; times <= 2; ++times) {
      QuotaToken released = *token;
      QuotaToken refunded = *token;
      const double before = quota->Available(kNow);
      quota->Release(kNow, released);
      quota->Release(kNow, released);
      quota->Refund(kNow, released);
      const double given = quota->Available(kNow) - before;
      quota->Refund(kNow, refunded);
      quota->Refund(kNow, refunded);
      quota->Release(kNow, refunded);
      const double back = quota->Available(kNow) - before - given;
      constexpr std::array kCosts = {2, 3, 5, 7, 0};
      EXPECT_EQ(back, kCosts.at(static_cast<size_t>(byte)));
      EXPECT_EQ(given, byte == 0 ? 1 : kCosts.at(static_cast<size_t>(byte)));
    }
  }
  EXPECT_EQ(tokens, 5);
  EXPECT_EQ(QuotaToken::FromByte(QuotaToken().ToByte())->ToByte(),
            QuotaToken().ToByte());
}

TEST(QuotaTokenTest, BytesAreThoseOfUses) {
  for (const QuotaUse use : {QuotaUse::kFirstPoll, QuotaUse::kRetry,
                             QuotaUse::kTimeout, QuotaUse::kThrottled}) {
    QuotaToken token;
    ASSERT_TRUE(MakeQuota({})->Acquire(use, kNow, token).has_value());
    EXPECT_EQ(token.ToByte(), static_cast<uint8_t>(use));
  }
  // The rest that it took is never given back, not even after a restart.
  const auto quota = MakeQuota(
      {.capacity = 10, .retry_cost = 14, .when_spent = WhenSpent::kTakeRest});
  QuotaToken token;
  ASSERT_TRUE(quota->Acquire(QuotaUse::kRetry, kNow, token).has_value());
  QuotaToken restored = *QuotaToken::FromByte(token.ToByte());
  quota->Release(kNow, restored);
  quota->Refund(kNow, restored);
  EXPECT_EQ(quota->Available(kNow), 0);
}

// Deposits and withdrawals.

TEST(QuotaSupplyTest, AmountsOfEverySize) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota({.capacity = 100, .compatible = compatible});
    EXPECT_EQ(quota->Withdraw(0, kNow), 0);
    EXPECT_EQ(quota->Withdraw(30.5, kNow), 30.5);
    quota->Deposit(0, kNow);
    EXPECT_EQ(quota->Available(kNow), 69.5);
    EXPECT_EQ(quota->Withdraw(kInfinity, kNow), 69.5);
    EXPECT_EQ(quota->Withdraw(kInfinity, kNow), 0);
    quota->Deposit(0.25, kNow);
    EXPECT_EQ(quota->Available(kNow), 0.25);
    quota->Deposit(kInfinity, kNow);
    EXPECT_EQ(quota->Available(kNow), 100);
    quota->Deposit(std::numeric_limits<double>::max(), kNow);
    EXPECT_EQ(quota->Withdraw(std::numeric_limits<double>::max(), kNow), 100);
  }
}

TEST(QuotaSupplyTest, RefillCountsForBoth) {
  for (const bool compatible : {false, true}) {
    const auto quota = MakeQuota(
        {.capacity = 100, .refill_per_second = 10, .compatible = compatible});
    EXPECT_EQ(quota->Withdraw(100, kNow), 100);
    EXPECT_NEAR(quota->Available(kNow + seconds(2)), 20, 1e-6);
    EXPECT_NEAR(quota->Withdraw(1000, kNow + seconds(3)), 30, 1e-6);
    quota->Deposit(95, kNow + seconds(3));
    EXPECT_NEAR(quota->Available(kNow + seconds(10)), 100, 1e-6);
    EXPECT_NEAR(quota->Withdraw(kInfinity, kNow + seconds(10)), 100, 1e-6);
  }
}

TEST(QuotaSupplyTest, DepositShortensTheTurnOfLaterPollsAlone) {
  const auto quota = MakeQuota({.capacity = 10,
                                .retry_cost = 10,
                                .timeout_cost = 10,
                                .refill_per_second = 1,
                                .when_spent = WhenSpent::kWait});
  QuotaToken token;
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kNow, token), kNow);
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kNow, token), kNow + seconds(10));
  EXPECT_NEAR(quota->Available(kNow), -10, 1e-6);
  // A quota in debt has nothing to withdraw.
  EXPECT_EQ(quota->Withdraw(5, kNow), 0);
  quota->Deposit(15, kNow);
  EXPECT_NEAR(quota->Available(kNow), 5, 1e-6);
  EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kNow, token), kNow + seconds(5));
}

// Low marks.

struct LowCase {
  QuotaUse use;
  double available;
  bool calls;
};

TEST(QuotaLowMarkTest, AcquiresThatLeaveLessOrAreRefusedCall) {
  for (const bool compatible : {false, true}) {
    for (const LowCase& example : {
             LowCase{QuotaUse::kRetry, 24, false},  // Leaves 10.
             LowCase{QuotaUse::kRetry, 23.5, true},
             LowCase{QuotaUse::kRetry, 13, true},  // Refused.
             LowCase{QuotaUse::kThrottled, 15, false},
             LowCase{QuotaUse::kThrottled, 14, true},
             LowCase{QuotaUse::kFirstPoll, 10, false},
         }) {
      int calls = 0;
      const auto quota = MakeQuota({.capacity = 100, .compatible = compatible},
                                   {.level = 10, .on_low = [&] { ++calls; }});
      quota->Withdraw(100 - example.available, kNow);
      EXPECT_EQ(calls, 0);
      QuotaToken token;
      quota->Acquire(example.use, kNow, token);
      EXPECT_EQ(calls, example.calls ? 1 : 0) << example.available;
      quota->Refund(kNow, token);
      quota->Release(kNow, token);
      quota->Deposit(1, kNow);
      quota->Withdraw(100, kNow);
      EXPECT_EQ(calls, example.calls ? 1 : 0);
    }
  }
}

TEST(QuotaLowMarkTest, CallbackMayUseTheQuota) {
  for (const bool compatible : {false, true}) {
    for (const double supply : {0.0, 100.0}) {
      std::shared_ptr<RetryQuota> quota;
      int depth = 0;
      int calls = 0;
      const auto on_low = [&] {
        ++calls;
        if (depth > 0) return;
        ++depth;
        EXPECT_LE(quota->Available(kNow), 100);
        quota->Deposit(supply, kNow);
        EXPECT_EQ(quota->Withdraw(1, kNow), 1);
        QuotaToken token;
        quota->Acquire(QuotaUse::kRetry, kNow, token);
        quota->Refund(kNow, token);
        --depth;
      };
      quota = MakeQuota({.capacity = 100, .compatible = compatible},
                        {.level = 10, .on_low = on_low});
      quota->Withdraw(90, kNow);
      QuotaToken token;
      // This is refused, but `on_low` may supply the next one.
      EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kNow, token), std::nullopt);
      EXPECT_EQ(quota->Acquire(QuotaUse::kRetry, kNow, token).has_value(),
                supply > 0);
      EXPECT_GE(calls, 1);
    }
  }
}

TEST(QuotaLowMarkTest, CallbackMayDropTheLastOwnerButTheWaits) {
  // A wait owns its quota, so the callback of a mark may drop all others.
  SimulatedClock clock;
  auto quota = std::make_shared<std::shared_ptr<RetryQuota>>();
  *quota = MakeQuota({.capacity = 20},
                     {.level = 10, .on_low = [quota] { *quota = nullptr; }});
  WaitOptions options = {.timeout = absl::Minutes(5), .clock = &clock};
  options.budgets.retry_quota = *quota;
  int polls = 0;
  Waiter wait(
      [&] {
        return ++polls < 3 ? PollStatus::kServerError : PollStatus::kSuccess;
      },
      std::move(options));
  EXPECT_EQ(wait.Wait().reason(), StopReason::kQuota);
  EXPECT_EQ(*quota, nullptr);
  EXPECT_EQ(polls, 2);
}

TEST(QuotaValidationTest, AmountsMustBeFiniteAndNotNegative) {
  const std::vector<std::function<void(RetryQuotaOptions&, double)>> fields = {
      [](auto& options, double value) { options.capacity = value; },
      [](auto& options, double value) { options.initial_cost = value; },
      [](auto& options, double value) { options.success_increment = value; },
      [](auto& options, double value) { options.retry_cost = value; },
      [](auto& options, double value) { options.timeout_cost = value; },
      [](auto& options, double value) { options.throttle_cost = value; },
      [](auto& options, double value) { options.refill_per_second = value; }};
  for (const auto& set : fields) {
    for (const double value : {-1.0, -1e-9, kInfinity, -kInfinity,
                               std::numeric_limits<double>::quiet_NaN()}) {
      RetryQuotaOptions options;
      set(options, value);
      EXPECT_THAT(RetryQuota::Make(options).status(),
                  StatusIs(absl::StatusCode::kInvalidArgument));
    }
    RetryQuotaOptions options;
    set(options, 0);
    EXPECT_TRUE(RetryQuota::Make(options).ok());
  }
  EXPECT_FALSE(Validate(RetryQuotaOptions{.initial_cost = 501}).ok());
  EXPECT_TRUE(Validate(RetryQuotaOptions{.initial_cost = 500}).ok());
  EXPECT_TRUE(Validate(RetryQuotaOptions{.retry_cost = 501}).ok());
  EXPECT_FALSE(
      Validate(RetryQuotaOptions{.when_spent = WhenSpent::kWait}).ok());
  EXPECT_FALSE(Validate(RetryQuotaOptions{.retry_cost = 501,
                                          .refill_per_second = 1,
                                          .when_spent = WhenSpent::kWait})
                   .ok());
}

// Every pair of calls from two threads. In the end, all tokens are back.
TEST(QuotaThreadTest, EveryPairOfCalls) {
  for (const bool compatible : {false, true}) {
    std::atomic<int> low = 0;
    const auto quota = MakeQuota({.capacity = 1000, .compatible = compatible},
                                 {.level = 990, .on_low = [&] { ++low; }});
    {
      std::vector<JoiningThread> threads;
      threads.reserve(4);
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
          double held = 0;
          for (int j = 0; j < 2000; ++j) {
            QuotaToken token;
            if (quota->Acquire(QuotaUse::kRetry, kNow, token).has_value()) {
              if ((j + i) % 2 == 0) {
                quota->Release(kNow, token);
              } else {
                quota->Refund(kNow, token);
              }
            }
            held += quota->Withdraw(j % 7, kNow);
            EXPECT_LE(quota->Available(kNow), 1000);
            EXPECT_EQ(quota->options().capacity, 1000);
            if (j % 3 == 0) quota->Deposit(std::exchange(held, 0), kNow);
          }
          quota->Deposit(held, kNow);
        });
      }
    }
    EXPECT_NEAR(quota->Available(kNow), 1000, 1e-6);
    EXPECT_GT(low, 0);
  }
}

// Limiters.

TEST(LimiterMakeTest, RateMustBeFiniteAndNotNegative) {
  for (const double rate : {-1.0, -1e-9, kInfinity, -kInfinity,
                            std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(AdaptiveRateLimiter::MakeLimiting({}, rate, kNow).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  for (const double rate : {0.0, 1e-300, 1.0, 1e300}) {
    const auto limiter = AdaptiveRateLimiter::MakeLimiting({}, rate, kNow);
    ASSERT_TRUE(limiter.ok());
    EXPECT_TRUE((*limiter)->State().limiting);
    EXPECT_GE(*(*limiter)->Rate(), 0.5);
    EXPECT_GE((*limiter)->Acquire(kNow), kNow);
  }
  EXPECT_FALSE(AdaptiveRateLimiter::MakeLimiting({.beta = 1}, 1, kNow).ok());
  EXPECT_FALSE(AdaptiveRateLimiter::Make({.smoothing = 0}).ok());
}

TEST(LimiterMakeTest, LimitsFromItsTimeOn) {
  const auto limiter = *AdaptiveRateLimiter::MakeLimiting({}, 10, kNow);
  int polls = 0;
  MonotonicTime now = kNow;
  while (now < kNow + seconds(1)) {
    const MonotonicTime start = limiter->Acquire(now);
    ASSERT_GE(start, now);
    if (start == now) ++polls;
    now = std::max(start, now + milliseconds(1));
  }
  EXPECT_NEAR(polls, 10, 2);
}

TEST(LimiterThreadTest, EveryPairOfCalls) {
  const auto limiter = *AdaptiveRateLimiter::Make({});
  std::vector<JoiningThread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 2000; ++j) {
        const MonotonicTime now = kNow + milliseconds(j);
        EXPECT_GE(limiter->Acquire(now), now);
        const auto cost = limiter->Acquire(now, 0.5);
        EXPECT_TRUE(cost.ok()) << cost.status();
        limiter->Update(
            now, j % 500 == i ? PollStatus::kThrottled : PollStatus::kSuccess);
        EXPECT_GE(limiter->Rate().value_or(1), 0.5);
        EXPECT_GE(limiter->State().max_capacity, 0);
        EXPECT_EQ(limiter->options().beta, 0.7);
        if (j % 100 == 0) {
          EXPECT_EQ(limiter->MakeAlike()->Rate(), std::nullopt);
        }
      }
    });
  }
}

// A user's own limiter, which records its calls.
class Recorder : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    if (next != nullptr) return next(now);
    return now;
  }
  void Update(MonotonicTime now, PollStatus status) override {
    updates.push_back(status);
    times.push_back(now);
  }
  std::optional<double> Rate() const override { return std::nullopt; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<Recorder>();
  }

  std::function<MonotonicTime(MonotonicTime)> next;
  std::vector<PollStatus> updates;
  std::vector<MonotonicTime> times;
};

class OwnLimiterTest : public EngineFixture {
 protected:
  WaitOptions Limited() {
    WaitOptions options = EverySecond();
    options.budgets.rate_limiter = Unowned(limiter_);
    return options;
  }

  Recorder limiter_;
};

TEST_F(OwnLimiterTest, IsToldOfEveryPollAtItsEnd) {
  const std::vector<PollStatus> all = {
      PollStatus::kNotReady, PollStatus::kServerError, PollStatus::kThrottled,
      PollStatus::kSuccess};
  const auto poll = [this, &all] {
    clock_.AdvanceTime(absl::Milliseconds(100));
    return all[std::min<size_t>(static_cast<size_t>(polls_++), 3)];
  };
  const MonotonicTime start = clock_.MonotonicNow();
  EXPECT_TRUE(Waiter(poll, Limited()).Wait().ok());
  EXPECT_EQ(limiter_.updates, all);
  EXPECT_EQ(limiter_.times[0], start + milliseconds(100));

  limiter_.updates.clear();
  polls_ = 0;
  WaitEngine engine(Simulated());
  const WaitHandle wait =
      engine.Start(Waiter(poll, Limited()), results_.Take());
  engine.Run();
  EXPECT_EQ(limiter_.updates, all);

  // A failure is also reported.
  limiter_.updates.clear();
  EXPECT_FALSE(
      Waiter([] { return PollStatus::kFailed; }, Limited()).Wait().ok());
  EXPECT_THAT(limiter_.updates, ElementsAre(PollStatus::kFailed));
}

TEST_F(OwnLimiterTest, IsAskedAgainUntilItAgrees) {
  int asked = 0;
  const MonotonicTime start = clock_.MonotonicNow();
  limiter_.next = [&](MonotonicTime now) {
    return ++asked < 5 ? now + milliseconds(70) : now;
  };
  EXPECT_TRUE(Waiter([] { return true; }, Limited()).Wait().ok());
  EXPECT_EQ(asked, 5);
  EXPECT_EQ(clock_.MonotonicNow(), start + milliseconds(280));
}

TEST_F(OwnLimiterTest, EndOfTimeEndsAtTheDeadlineOrWithAStop) {
  limiter_.next = [](MonotonicTime) { return MonotonicTime::max(); };
  const auto poll = [this] { return CountPoll(false); };
  EXPECT_EQ(Waiter(poll, Limited()).Wait().reason(), StopReason::kDeadline);
  EXPECT_EQ(polls_, 1);
  EXPECT_EQ(clock_.Elapsed(), absl::Hours(1));

  WaitOptions endless = Limited();
  endless.timeout = absl::InfiniteDuration();
  waiter::stop_source stop;
  clock_.CallAt(clock_.Elapsed() + absl::Hours(1),
                [&] { stop.request_stop(); });
  EXPECT_EQ(Waiter(poll, endless).Wait(stop.get_token()).reason(),
            StopReason::kCancelled);
  EXPECT_EQ(polls_, 1);
}

TEST_F(OwnLimiterTest, MayStopAndDestroyItsWait) {
  for (const bool destroys : {false, true}) {
    WaitEngine engine(Simulated());
    std::optional<WaitHandle> wait;
    limiter_.next = [&](MonotonicTime now) {
      if (destroys) {
        wait.reset();
      } else {
        wait->Cancel();
      }
      return now + seconds(1);
    };
    wait = engine.Start(NeverReady(), results_.Take());
    wait = engine.Start(
        Waiter([this, token = token_] { return CountPoll(false); }, Limited()),
        TakeHolding());
    engine.Run();
    wait.reset();
    EXPECT_EQ(polls_, 0);
    EXPECT_EQ(held(), 0);
    EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  }
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(OwnLimiterTest, UpdateMayDestroyItsWait) {
  class Dropper : public Recorder {
   public:
    void Update(MonotonicTime, PollStatus) override { wait.reset(); }
    std::optional<WaitHandle> wait;
  };
  Dropper limiter;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.budgets.rate_limiter = Unowned(limiter);
  limiter.wait = engine.Start(
      Waiter([this, token = token_] { return CountPoll(false); }, options),
      TakeHolding());
  engine.Run();
  EXPECT_EQ(polls_, 1);
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

}  // namespace
}  // namespace waiter::budget_promises_test
