// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/budgets.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::give_up_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Task = absl::AnyInvocable<void()>;

class GiveUpTest : public EngineFixture {
 protected:
  // Options whose `on_give_up` records the reason.
  WaitOptions Options(absl::Duration timeout = absl::Seconds(5)) {
    WaitOptions options = EverySecond(timeout);
    options.name = "instance";
    options.hooks.on_failure = [this](const WaitFailure& end) {
      given_up_.push_back(end.report.reason);
      if (on_give_up_ != nullptr) on_give_up_(end);
    };
    return options;
  }

  auto GivesUp() {
    return Waiter([] { return false; }, Options());
  }

  std::vector<StopReason> given_up_;
  std::function<void(const WaitFailure&)> on_give_up_;
};

TEST_F(GiveUpTest, BlockingWaitCallsItOnceBeforeItReturns) {
  on_give_up_ = [&](const WaitFailure& end) {
    EXPECT_EQ(end.name, "instance");
    EXPECT_EQ(end.timeout, absl::Seconds(10));
    EXPECT_EQ(end.deadline, clock_.TimeNow() + absl::Seconds(10));
    EXPECT_EQ(end.report.attempts, 6);
    EXPECT_THAT(end.report.status,
                StatusIs(absl::StatusCode::kDeadlineExceeded));
  };

  (void)GivesUp().Wait();

  EXPECT_THAT(given_up_, ElementsAre(StopReason::kDeadline));
}

TEST_F(GiveUpTest, SuccessDoesNotCallIt) {
  EXPECT_TRUE(Waiter([] { return true; }, Options()).Wait().ok());
  EXPECT_TRUE(Waiter([&] { return ++polls_ == 3; }, Options()).Wait().ok());

  EXPECT_THAT(given_up_, IsEmpty());
}

TEST_F(GiveUpTest, EveryOtherEndCallsItOnce) {
  const auto not_ready = [] { return NotReady(); };
  WaitOptions attempts = Options();
  attempts.max_attempts = 2;
  WaitOptions streak = Options();
  streak.errors.max_consecutive_server_errors = 1;
  WaitOptions rule = Options();
  rule.delay_source = [](const auto&, auto) { return std::nullopt; };
  WaitOptions invalid = Options();
  invalid.max_attempts = 0;
  WaitOptions strict = Options(absl::Seconds(1));
  strict.polls.strict_deadline = true;
  for (const bool on_engine : {false, true}) {
    given_up_.clear();
    WaitOptions quota = Options();
    quota.budgets.retry_quota = *RetryQuota::Make({.capacity = 1});
    const auto run = [&](std::function<Poll<>()> function,
                         const WaitOptions& options) {
      Waiter wait(std::move(function), options);
      if (on_engine) {
        WaitEngine engine(Simulated());
        engine.Start(std::move(wait), results_.Take()).Detach();
        engine.Run();
      } else {
        (void)wait.Wait();
      }
    };
    run([] { return Success(); }, Options());
    EXPECT_THAT(given_up_, IsEmpty());
    run(not_ready, Options());
    run([] { return Failed(); }, Options());
    run(not_ready, attempts);
    run([] { return ServerError(); }, streak);
    run(not_ready, rule);
    run([] { return Throttled(); }, quota);
    run(not_ready, invalid);
    run(nullptr, Options());
    run(
        [&] {
          clock_.AdvanceTime(absl::Seconds(5));
          return Success();
        },
        strict);
    EXPECT_THAT(
        given_up_,
        ElementsAre(StopReason::kDeadline, StopReason::kFailed,
                    StopReason::kAttempts, StopReason::kConsecutiveLimit,
                    StopReason::kDelaySource, StopReason::kQuota,
                    StopReason::kInvalidOptions, StopReason::kInvalidOptions,
                    StopReason::kDeadline));
  }
  given_up_.clear();
  waiter::stop_source stop;
  stop.request_stop();
  (void)Waiter(not_ready, Options()).Wait(stop.get_token());
  EXPECT_THAT(given_up_, ElementsAre(StopReason::kCancelled));
}

TEST_F(GiveUpTest, ExceptionOfTheStatusFunctionCallsItAndPassesThrough) {
  on_give_up_ = [](const WaitFailure& end) {
    EXPECT_THAT(end.report.status, StatusIs(absl::StatusCode::kUnknown));
  };
  Waiter wait([]() -> bool { throw std::out_of_range("boom"); }, Options());

  EXPECT_THROW((void)wait.Wait(), std::out_of_range);
  EXPECT_THROW((void)wait.Wait(), std::out_of_range);

  EXPECT_THAT(given_up_, ElementsAre(StopReason::kFailed, StopReason::kFailed));
}

TEST_F(GiveUpTest, TimeLimitIsThatOfTheOptions) {
  WaitOptions options = Options();
  for (const absl::Duration limit :
       {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Seconds(10),
        absl::InfiniteDuration()}) {
    given_up_.clear();
    options.hooks.failure_timeout = limit;
    on_give_up_ = [&](const WaitFailure& end) {
      EXPECT_EQ(end.timeout, limit);
      EXPECT_EQ(end.deadline, clock_.TimeNow() + limit);
    };
    (void)Waiter([] { return false; }, options).Wait();
    EXPECT_EQ(given_up_.size(), 1U);
  }

  on_give_up_ = nullptr;
  options.hooks.failure_timeout = -absl::Seconds(1);
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument));
  (void)Waiter([] { return true; }, options).Wait();
  EXPECT_EQ(given_up_.back(), StopReason::kInvalidOptions);
}

TEST_F(GiveUpTest, TimeThatItBlocksIsNotTheWaits) {
  on_give_up_ = [&](const WaitFailure&) {
    clock_.AdvanceTime(absl::Minutes(1));
  };

  const auto result = GivesUp().Wait();

  EXPECT_EQ(result.report().elapsed, absl::Seconds(5));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(5) + absl::Minutes(1));
}

TEST_F(GiveUpTest, StopThatItRequestsComesTooLate) {
  waiter::stop_source stop;
  on_give_up_ = [&](const WaitFailure&) { stop.request_stop(); };

  const auto result = GivesUp().Wait(stop.get_token());

  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_THAT(given_up_, ElementsAre(StopReason::kDeadline));
}

// Engines.

TEST_F(GiveUpTest, WhileItBlocksTheOtherWaitsOfItsThreadAreHeldUp) {
  WaitEngine engine(Simulated());
  on_give_up_ = [&](const WaitFailure&) {
    clock_.AdvanceTime(absl::Seconds(100));
  };
  std::vector<absl::Duration> polled_at;
  engine.Start(GivesUp(), results_.Take()).Detach();
  engine
      .Start(Waiter(
                 [&] {
                   polled_at.push_back(clock_.Elapsed());
                   return polled_at.size() == 8;
                 },
                 EverySecond()),
             results_.Take())
      .Detach();

  engine.Run();

  ASSERT_EQ(results_.reports().size(), 2U);
  EXPECT_EQ(results_.reports()[0].elapsed, absl::Seconds(5));
  EXPECT_GE(polled_at.back(), absl::Seconds(105));
  EXPECT_LE(polled_at[4], absl::Seconds(4));
}

TEST_F(GiveUpTest, StopsThatItRequestsOnAnEngineComeTooLate) {
  for (const bool by_token : {false, true}) {
    given_up_.clear();
    WaitEngine engine(Simulated());
    waiter::stop_source stop;
    WaitHandle wait;
    on_give_up_ = [&](const WaitFailure&) {
      by_token ? void(stop.request_stop()) : wait.Cancel();
    };
    Results results;
    wait = engine.Start(GivesUp(), results.Take(), {.stop = stop.get_token()});

    engine.Run();

    EXPECT_THAT(given_up_, ElementsAre(StopReason::kDeadline));
    EXPECT_THAT(results.reasons(), ElementsAre(StopReason::kDeadline));
  }
}

TEST_F(GiveUpTest, EngineCallsItBeforeTheCallback) {
  WaitEngine engine(Simulated());
  on_give_up_ = [&](const WaitFailure&) {
    EXPECT_THAT(results_.reasons(), IsEmpty());
  };

  const WaitHandle wait = engine.Start(GivesUp(), results_.Take());
  engine.Run();

  EXPECT_THAT(given_up_, ElementsAre(StopReason::kDeadline));
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
}

TEST_F(GiveUpTest, EngineCallsItWithTheNameOfTheStart) {
  WaitEngine engine(Simulated());
  on_give_up_ = [&](const WaitFailure& end) { EXPECT_EQ(end.name, "i-0abc"); };

  const WaitHandle wait =
      engine.Start(GivesUp(), results_.Take(), {.name = "i-0abc"});
  engine.Run();

  EXPECT_EQ(given_up_.size(), 1U);
}

TEST_F(GiveUpTest, CancelAndTheEndOfTheEngineCallIt) {
  std::optional<WaitEngine> engine(Simulated());
  WaitHandle cancelled = engine->Start(GivesUp(), results_.Take());
  cancelled.Cancel();
  engine->RunDue();
  engine->Start(GivesUp(), results_.Take()).Detach();

  engine.reset();

  EXPECT_THAT(given_up_, testing::UnorderedElementsAre(StopReason::kCancelled,
                                                       StopReason::kShutDown));
}

TEST_F(GiveUpTest, DestroyedHandleCallsNothing) {
  WaitEngine engine(Simulated());
  const auto start = [&] { return engine.Start(GivesUp(), results_.Take()); };
  (void)start();  // Destroyed before the wait begins.
  WaitHandle cancelled = start();
  cancelled.Cancel();
  cancelled = WaitHandle();
  std::optional<WaitHandle> sleeping = start();
  clock_.CallAt(absl::Seconds(2), [&] { sleeping.reset(); });

  engine.Run();

  EXPECT_THAT(given_up_, IsEmpty());
  EXPECT_THAT(results_.reasons(), IsEmpty());
}

TEST_F(GiveUpTest, ItMayDestroyTheHandleAndThenThereIsNoCallback) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait;
  on_give_up_ = [&](const WaitFailure& end) {
    wait.reset();
    EXPECT_EQ(end.name, "instance");
    EXPECT_FALSE(end.report.status.message().empty());
  };
  // One wait ends by a poll, and one between polls.
  for (const bool by_poll : {true, false}) {
    WaitOptions options = Options();
    if (by_poll) options.max_attempts = 1;
    wait = engine.Start(Waiter([] { return false; }, options), results_.Take());
    if (!by_poll) {
      clock_.CallAt(clock_.Elapsed() + absl::Milliseconds(1500),
                    [&] { wait->Cancel(); });
    }
    engine.Run();
  }

  EXPECT_THAT(given_up_,
              ElementsAre(StopReason::kAttempts, StopReason::kCancelled));
  EXPECT_THAT(results_.reasons(), IsEmpty());
}

TEST_F(GiveUpTest, ItMayStartAnotherWait) {
  WaitEngine engine(Simulated());
  on_give_up_ = [&](const WaitFailure&) {
    engine.Start(Ready(), results_.Take()).Detach();
  };
  engine.Start(GivesUp(), results_.Take()).Detach();

  engine.Run();

  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kDeadline, StopReason::kSuccess));
}

TEST_F(GiveUpTest, WaitThatItStartsAtTheEndOfTheEngineEndsWithACallback) {
  std::optional<WaitEngine> engine(Simulated());
  on_give_up_ = [&](const WaitFailure&) {
    engine->Start(Waiter([] { return false; }, EverySecond()), results_.Take())
        .Detach();
  };
  engine->Start(GivesUp(), [](WaitResult<>) {}).Detach();
  engine->RunDue();

  engine.reset();

  EXPECT_THAT(given_up_, ElementsAre(StopReason::kShutDown));
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kShutDown));
}

TEST_F(GiveUpTest, WaitsOfOnePolicyEachCallIt) {
  WaitEngine engine(Simulated());
  const auto policy = WaitPolicy::Make(Options());
  for (int i = 0; i < 3; ++i) {
    engine.Start(Waiter([] { return false; }, policy), results_.Take())
        .Detach();
  }

  engine.Run();

  EXPECT_EQ(given_up_.size(), 3U);
}

// With an executor.

TEST_F(GiveUpTest, ExecutorRunsIt) {
  std::optional<WaitEngine> engine(Queued());
  WaitOptions once = Options();
  once.max_attempts = 1;
  engine
      ->Start(Waiter([] { return false; }, once), results_.Take(),
              {.name = "i-0abc"})
      .Detach();
  engine->RunDue();
  RunTasks();  // The poll.
  engine->RunDue();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kAttempts));
  EXPECT_THAT(given_up_, IsEmpty());
  on_give_up_ = [&](const WaitFailure& end) {
    EXPECT_EQ(end.name, "i-0abc");
    EXPECT_EQ(end.report.attempts, 1);
    EXPECT_THAT(end.report.status,
                StatusIs(absl::StatusCode::kResourceExhausted));
  };

  // The engine may have ended by then. Another call of the task does nothing.
  engine.reset();
  ASSERT_EQ(tasks_.size(), 1U);
  tasks_[0]();
  tasks_[0]();

  EXPECT_THAT(given_up_, ElementsAre(StopReason::kAttempts));
}

TEST_F(GiveUpTest, ExecutorThatDropsOrThrowsDoesNotLoseIt) {
  for (const bool throws : {true, false}) {
    given_up_.clear();
    bool accepts = true;
    WaitEngine engine(WithExecutor([&](Task task) {
      if (accepts) {
        accepts = false;
        task();
      } else if (throws) {
        throw std::runtime_error("full");
      }
    }));
    WaitOptions once = Options();
    once.max_attempts = 1;
    engine.Start(Waiter([] { return false; }, once), results_.Take()).Detach();

    engine.Run();

    EXPECT_THAT(given_up_, ElementsAre(StopReason::kAttempts));
  }
}

using GiveUpDeathTest = GiveUpTest;

TEST_F(GiveUpDeathTest, ExceptionTerminates) {
  on_give_up_ = [](const WaitFailure&) { throw std::runtime_error("boom"); };

  EXPECT_DEATH((void)GivesUp().Wait(), "boom");
  EXPECT_DEATH(
      {
        WaitEngineOptions options = Simulated();
        options.on_callback_exception = [](std::exception_ptr) {};
        WaitEngine engine(options);
        engine.Start(GivesUp(), results_.Take()).Detach();
        engine.Run();
      },
      "boom");
}

TEST_F(GiveUpDeathTest, EndOfTheEngineTerminates) {
  EXPECT_DEATH(
      {
        std::optional<WaitEngine> engine(Simulated());
        on_give_up_ = [&](const WaitFailure&) { engine.reset(); };
        engine->Start(GivesUp(), results_.Take()).Detach();
        engine->Run();
      },
      ".");
}

}  // namespace
}  // namespace waiter::give_up_test
