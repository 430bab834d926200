// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Covers waits that share a quota or a limiter. retry_quota_test.cc and
// rate_limiter_test.cc cover each alone.

#include <chrono>
#include <functional>
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
#include "tests/support/unowned.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::budget_test {
namespace {

using absl::Milliseconds;
using absl::Seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration k0 = absl::ZeroDuration();

class BudgetTest : public testing::Test {
 protected:
  // A server error costs 10, a timeout 20, a throttled answer 5.
  static std::shared_ptr<RetryQuota> Quota(RetryQuotaOptions options) {
    options.retry_cost = 10;
    options.timeout_cost = 20;
    options.throttle_cost = 5;
    return *RetryQuota::Make(options);
  }

  // Waits on `script`, with delays of one second after every answer.
  WaitResult<> Wait(std::vector<ScriptedPoll<>::Step> script,
                    WaitOptions options) {
    options.timeout = timeout_;
    options.backoff = options.errors.server_error_backoff =
        options.errors.throttled_backoff = Every(Seconds(1));
    options.clock = &clock_;
    const absl::Duration start = clock_.Elapsed();
    ScriptedPoll<> poll(clock_, std::move(script));
    WaitResult<> result =
        Waiter(std::ref(poll), options).Wait(stop_.get_token());
    polled_at_.clear();
    for (absl::Duration time : poll.polled_at()) {
      polled_at_.push_back(time - start);
    }
    return result;
  }

  double Available(const RetryQuota& quota) {
    return quota.Available(clock_.MonotonicNow());
  }

  SimulatedClock clock_;
  waiter::stop_source stop_;
  absl::Duration timeout_ = absl::Minutes(10);
  std::vector<absl::Duration> polled_at_;
};

TEST_F(BudgetTest, CostDependsOnTheErrorAndWaitingIsFree) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 100});

  (void)Wait({NotReady(), ServerError(), Throttled(),
              ServerError(absl::DeadlineExceededError("slow")), NotReady(),
              Failed("gone")},
             {.budgets = {.retry_quota = quota}});

  EXPECT_EQ(Available(*quota), 100 - 10 - 5 - 20);
}

TEST_F(BudgetTest, SuccessRefundsOnlyTheLastCost) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 100});

  EXPECT_TRUE(Wait({ServerError(), ServerError(), Throttled(), Success()},
                   {.budgets = {.retry_quota = quota}})
                  .ok());

  EXPECT_EQ(Available(*quota), 100 - 10 - 10);
}

TEST_F(BudgetTest, SuccessWithoutErrorsGivesTheIncrement) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 100});
  (void)Wait({ServerError(), Failed("gone")},
             {.budgets = {.retry_quota = quota}});

  (void)Wait({Success()}, {.budgets = {.retry_quota = quota}});

  EXPECT_EQ(Available(*quota), 100 - 10 + 1);
}

TEST_F(BudgetTest, RefusalEndsTheWaitWithTheLastError) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 25});

  const WaitResult<> result = Wait(
      {ServerError("503")}, {.name = "job", .budgets = {.retry_quota = quota}});

  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(1), Seconds(2)));
  EXPECT_EQ(result.reason(), StopReason::kQuota);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(result.status().message(),
            "job: retry_quota has no tokens for attempt 4, gave up after 3 "
            "attempts in 2s; last poll: server error: 503");
  EXPECT_EQ(result.report().last_error->detail(), "503");
  EXPECT_EQ(Available(*quota), 5);
}

TEST_F(BudgetTest, RefusalOfALongPollIsDelayed) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 15});

  const WaitResult<> result =
      Wait({ServerError()},
           {.budgets = {.retry_quota = quota, .delay_when_refused = true}});

  EXPECT_EQ(result.reason(), StopReason::kQuota);
  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(1)));
  EXPECT_EQ(result.report().elapsed, Seconds(2));
}

// There is no delay after which to refuse.
TEST_F(BudgetTest, RefusalWithoutADelayEndsTheWaitAtOnce) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 5});
  ScriptedPoll<> poll(clock_, {ServerError()});

  const WaitResult<> result =
      Waiter(std::ref(poll),
             {.timeout = timeout_,
              .errors = {.server_error_backoff = {.initial_delay = k0,
                                                  .max_delay = k0}},
              .budgets = {.retry_quota = quota, .delay_when_refused = true},
              .clock = &clock_})
          .Wait();

  EXPECT_EQ(result.reason(), StopReason::kQuota);
  EXPECT_THAT(poll.polled_at(), ElementsAre(k0));
  EXPECT_EQ(result.report().elapsed, k0);
}

// `delay_when_refused` applies to the delay after a poll, not to the one before
// the first.
TEST_F(BudgetTest, RefusedFirstPollEndsTheWaitWithoutADelay) {
  const std::shared_ptr<RetryQuota> quota =
      Quota({.capacity = 25, .initial_cost = 20});
  (void)Wait({Failed("gone")}, {.budgets = {.retry_quota = quota}});
  WaitOptions at_once = {.budgets = {.retry_quota = quota}};
  WaitOptions delayed = at_once;
  delayed.budgets.delay_when_refused = true;
  delayed.polls.first_delay = Seconds(3);

  for (const WaitOptions& options : {at_once, delayed}) {
    SCOPED_TRACE(options.budgets.delay_when_refused);
    const WaitResult<> result = Wait({Success()}, options);

    EXPECT_EQ(result.reason(), StopReason::kQuota);
    EXPECT_THAT(polled_at_, IsEmpty());
    EXPECT_EQ(result.report().elapsed, k0);
  }
}

TEST_F(BudgetTest, RefillMayLengthenTheDelay) {
  const std::shared_ptr<RetryQuota> quota =
      Quota({.capacity = 20,
             .refill_per_second = 1,
             .when_spent = RetryQuotaOptions::WhenSpent::kWait});

  // The quota has 20 tokens. The second and the third poll cost 10 each, and a
  // second refills one, so 9 are missing for the fourth poll.
  EXPECT_TRUE(Wait({ServerError(), ServerError(), ServerError(), Success()},
                   {.budgets = {.retry_quota = quota}})
                  .ok());

  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(1), Seconds(2), Seconds(11)));
}

TEST_F(BudgetTest, RefillBeyondTheDeadlineIsARefusalWithoutCost) {
  timeout_ = Seconds(5);
  const std::shared_ptr<RetryQuota> quota =
      Quota({.capacity = 20,
             .refill_per_second = 0.001,
             .when_spent = RetryQuotaOptions::WhenSpent::kWait});

  const WaitResult<> result =
      Wait({ServerError()}, {.budgets = {.retry_quota = quota}});

  EXPECT_EQ(result.reason(), StopReason::kQuota);
  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(1), Seconds(2)));
  EXPECT_NEAR(Available(*quota), 0, 0.01);
}

// The second poll takes all 10 tokens. A second later there are 2.5, so the
// tokens for the third poll are complete 3 s after that, at the deadline.
TEST_F(BudgetTest, RefillAtTheDeadlineIsInTime) {
  timeout_ = Seconds(4);
  const std::shared_ptr<RetryQuota> quota =
      *RetryQuota::Make({.capacity = 10,
                         .retry_cost = 10,
                         .timeout_cost = 10,
                         .throttle_cost = 10,
                         .refill_per_second = 2.5,
                         .when_spent = RetryQuotaOptions::WhenSpent::kWait});

  const WaitResult<> result =
      Wait({ServerError()}, {.budgets = {.retry_quota = quota}});

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(1), Seconds(4)));
}

TEST_F(BudgetTest, StopRefundsThePollThatIsNotMade) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 100});
  clock_.CallAt(Milliseconds(1500), [&] { stop_.request_stop(); });

  EXPECT_EQ(Wait({ServerError()}, {.budgets = {.retry_quota = quota}}).reason(),
            StopReason::kCancelled);

  EXPECT_EQ(Available(*quota), 100 - 10);
}

TEST_F(BudgetTest, WaitsShareAQuota) {
  const std::shared_ptr<RetryQuota> quota = Quota({.capacity = 25});
  (void)Wait({ServerError(), Failed("gone")},
             {.budgets = {.retry_quota = quota}});

  EXPECT_EQ(Wait({ServerError()}, {.budgets = {.retry_quota = quota}}).reason(),
            StopReason::kQuota);

  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(1)));
}

TEST_F(BudgetTest, LimiterHoldsPollsBackOnceThrottled) {
  const std::shared_ptr<AdaptiveRateLimiter> limiter =
      *AdaptiveRateLimiter::Make({});

  // Throttling the first poll sets the rate to 0.5 per second, so the next
  // token takes 2 s.
  const WaitResult<> result = Wait(
      {Throttled(), Success()},
      {.budgets = {.rate_limiter = limiter}, .hooks = {.history_limit = 9}});

  EXPECT_TRUE(result.ok());
  EXPECT_THAT(polled_at_, ElementsAre(k0, Seconds(2)));
  // The limiter adds one second to the delay of one second.
  EXPECT_EQ(result.report().history[0].delay, Seconds(2));
}

TEST_F(BudgetTest, LimiterLeavesTheLastPoll) {
  timeout_ = Milliseconds(1500);
  const std::shared_ptr<AdaptiveRateLimiter> limiter =
      *AdaptiveRateLimiter::Make({});

  const WaitResult<> result =
      Wait({Throttled()}, {.budgets = {.rate_limiter = limiter}});

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_THAT(polled_at_, ElementsAre(k0, Milliseconds(1500)));
  EXPECT_EQ(result.report().elapsed, Milliseconds(1500));
}

TEST_F(BudgetTest, LimiterLeavesTheOnlyPollOfATimeoutOfZero) {
  const std::shared_ptr<AdaptiveRateLimiter> limiter =
      *AdaptiveRateLimiter::Make({});
  limiter->Acquire(clock_.MonotonicNow());
  limiter->Update(clock_.MonotonicNow(), PollStatus::kThrottled);
  ASSERT_GT(limiter->Acquire(clock_.MonotonicNow()), clock_.MonotonicNow());
  timeout_ = k0;

  const WaitResult<> result =
      Wait({Success()}, {.budgets = {.rate_limiter = limiter}});

  EXPECT_TRUE(result.ok());
  EXPECT_THAT(polled_at_, ElementsAre(k0));
}

TEST_F(BudgetTest, StopEndsWaitingForTheLimiter) {
  const std::shared_ptr<AdaptiveRateLimiter> limiter =
      *AdaptiveRateLimiter::Make({});
  clock_.CallAt(Milliseconds(1700), [&] { stop_.request_stop(); });

  const WaitResult<> result =
      Wait({Throttled()}, {.budgets = {.rate_limiter = limiter}});

  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_EQ(result.report().elapsed, Milliseconds(1700));
}

TEST_F(BudgetTest, LowMarkMayDropTheLastOwnerButTheWait) {
  auto quota = std::make_shared<std::shared_ptr<RetryQuota>>();
  *quota = *RetryQuota::Make(
      {.capacity = 20}, {.level = 10, .on_low = [quota] { *quota = nullptr; }});
  WaitOptions options = {.timeout = timeout_, .clock = &clock_};
  options.budgets.retry_quota = *quota;
  Waiter wait([] { return PollStatus::kServerError; }, std::move(options));

  EXPECT_EQ(wait.Wait().reason(), StopReason::kQuota);

  EXPECT_EQ(*quota, nullptr);
}

// A limiter of a user.

class OwnLimiter : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    return next != nullptr ? next(now) : now;
  }
  void Update(MonotonicTime now, PollStatus status) override {
    statuses.push_back(status);
    times.push_back(now);
    if (on_update != nullptr) on_update();
  }
  std::optional<double> Rate() const override { return std::nullopt; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<OwnLimiter>();
  }

  std::function<MonotonicTime(MonotonicTime)> next;
  std::function<void()> on_update;
  std::vector<PollStatus> statuses;
  std::vector<MonotonicTime> times;
};

class OwnLimiterTest : public BudgetTest {
 protected:
  BudgetOptions Budgets() { return {.rate_limiter = Unowned(limiter_)}; }

  // Starts a wait that owns `owned_` and destroys its results.
  WaitHandle Start(WaitEngine& engine, std::vector<StopReason>& ends) {
    return engine.Start(
        Waiter(
            [this, owned = owned_] {
              ++polls_;
              return false;
            },
            {.timeout = timeout_, .budgets = Budgets(), .clock = &clock_}),
        [&ends](const WaitResult<>& result) {
          ends.push_back(result.reason());
        });
  }

  OwnLimiter limiter_;
  std::shared_ptr<int> owned_ = std::make_shared<int>();
  int polls_ = 0;
};

TEST_F(OwnLimiterTest, IsToldOfEveryPollAtItsEnd) {
  const MonotonicTime start = clock_.MonotonicNow();
  (void)Wait({{NotReady(), Milliseconds(100)},
              ServerError(),
              Throttled(),
              Failed("gone")},
             {.budgets = Budgets()});

  EXPECT_THAT(limiter_.statuses,
              ElementsAre(PollStatus::kNotReady, PollStatus::kServerError,
                          PollStatus::kThrottled, PollStatus::kFailed));
  EXPECT_EQ(limiter_.times[0], start + std::chrono::milliseconds(100));
  limiter_.statuses.clear();
  (void)Wait({Success()}, {.budgets = Budgets()});
  EXPECT_THAT(limiter_.statuses, ElementsAre(PollStatus::kSuccess));
}

TEST_F(OwnLimiterTest, IsAskedAgainUntilItAgrees) {
  int asked = 0;
  limiter_.next = [&](MonotonicTime now) {
    return ++asked < 5 ? now + std::chrono::milliseconds(70) : now;
  };
  (void)Wait({Success()}, {.budgets = Budgets()});

  EXPECT_EQ(asked, 5);
  EXPECT_THAT(polled_at_, ElementsAre(Milliseconds(280)));
}

TEST_F(OwnLimiterTest, EndOfTimeEndsAtTheDeadlineOrWithAStop) {
  limiter_.next = [](MonotonicTime) { return MonotonicTime::max(); };
  EXPECT_EQ(Wait({NotReady()}, {.budgets = Budgets()}).reason(),
            StopReason::kDeadline);
  EXPECT_THAT(polled_at_, ElementsAre(timeout_));

  timeout_ = absl::InfiniteDuration();
  clock_.CallAt(clock_.Elapsed() + absl::Hours(1),
                [&] { stop_.request_stop(); });
  EXPECT_EQ(Wait({NotReady()}, {.budgets = Budgets()}).reason(),
            StopReason::kCancelled);
  EXPECT_THAT(polled_at_, IsEmpty());
}

TEST_F(OwnLimiterTest, MayStopOrDestroyItsWait) {
  std::vector<StopReason> ends;
  for (const bool destroys : {false, true}) {
    WaitEngine engine({.threads = 0, .clock = &clock_});
    std::optional<WaitHandle> wait;
    limiter_.next = [&](MonotonicTime now) {
      if (destroys) {
        wait.reset();
      } else {
        wait->Cancel();
      }
      return now + std::chrono::seconds(1);
    };
    wait = Start(engine, ends);
    engine.Run();
  }
  EXPECT_THAT(ends, ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(owned_.use_count(), 1);
  EXPECT_EQ(clock_.Elapsed(), k0);
}

TEST_F(OwnLimiterTest, UpdateMayDestroyItsWait) {
  std::vector<StopReason> ends;
  WaitEngine engine({.threads = 0, .clock = &clock_});
  std::optional<WaitHandle> wait;
  limiter_.on_update = [&] { wait.reset(); };
  wait = Start(engine, ends);
  engine.Run();

  EXPECT_EQ(polls_, 1);
  EXPECT_EQ(owned_.use_count(), 1);
  EXPECT_THAT(ends, IsEmpty());
}

}  // namespace
}  // namespace waiter::budget_test
