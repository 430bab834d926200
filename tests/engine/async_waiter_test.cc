// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/async_waiter.h"

#include <concepts>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter::async_waiter_test {
namespace {

using ::absl::Hours;
using ::absl::Milliseconds;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::absl::ZeroDuration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records when each poll begins, and keeps its completion.
class AsyncWaiterTest : public EngineFixture {
 protected:
  // Returns a function that never answers on its own.
  auto Keep() {
    return [this, token = token_](PollCompletion<> done) {
      polled_at_.push_back(clock_.Elapsed());
      completions_.push_back(std::move(done));
    };
  }
  // Returns a function that answers each poll after `takes`.
  template <typename Answer>
  auto AnswerAfter(absl::Duration takes, Answer answer) {
    return [this, takes, answer](PollCompletion<> done) {
      polled_at_.push_back(clock_.Elapsed());
      clock_.CallAt(clock_.Elapsed() + takes,
                    [answer, done = std::move(done)] { done(answer); });
    };
  }

  std::vector<absl::Duration> polled_at_;
  std::vector<PollCompletion<>> completions_;
};

TEST_F(AsyncWaiterTest, AnswersOfEveryKindAreAccepted) {
  WaitEngine engine(Simulated());
  std::vector<int> values;
  int polls = 0;
  const WaitHandle wait = engine.Start(
      AsyncWaiter(
          [&](const PollContext& context, PollCompletion<int> done) {
            EXPECT_EQ(context.attempt, ++polls);
            switch (polls) {
              case 1:
                return done(PollStatus::kNotReady);
              case 2:
                return done(Poll<int>(NotReady("almost")));
              case 3:
                return done(
                    absl::StatusOr<int>(absl::UnavailableError("busy")));
              default:
                return done(Success(7));
            }
          },
          [&] {
            WaitOptions options = EverySecond();
            options.errors.server_error_backoff = options.backoff;
            return options;
          }()),
      [&](const WaitResult<int>& result) {
        EXPECT_EQ(result.report().count(PollStatus::kNotReady), 2);
        EXPECT_EQ(result.report().count(PollStatus::kServerError), 1);
        values.push_back(*result);
      });

  engine.Run();

  EXPECT_THAT(values, ElementsAre(7));
  EXPECT_EQ(clock_.Elapsed(), Seconds(3));
}

TEST_F(AsyncWaiterTest, DelayRunsFromTheAnswer) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.max_attempts = 3;
  const WaitHandle wait =
      engine.Start(AsyncWaiter(AnswerAfter(Milliseconds(2500), false), options),
                   results_.Take());

  engine.Run();

  EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Milliseconds(3500),
                                      Milliseconds(7000)));
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kAttempts));
  EXPECT_EQ(results_.reports()[0].elapsed, Milliseconds(9500));
  EXPECT_EQ(results_.reports()[0].longest_poll, Milliseconds(2500));
  EXPECT_EQ(results_.reports()[0].slept, Seconds(2));
}

TEST_F(AsyncWaiterTest, AnswerMayComeFromAnotherThread) {
  std::vector<JoiningThread> threads;
  std::promise<int> ended;
  std::thread::id called_back_on;
  std::thread::id polled_on;
  WaitEngine engine;
  const WaitHandle wait = engine.Start(
      AsyncWaiter(
          [&](PollCompletion<int> done) {
            polled_on = std::this_thread::get_id();
            const bool ends = ++polls_ == 3;
            threads.emplace_back([ends, done = std::move(done)] {
              if (!ends) return done(NotReady());
              done(Success(7));
            });
          },
          {.timeout = Hours(1), .backoff = Every(Milliseconds(1))}),
      [&](const WaitResult<int>& result) {
        called_back_on = std::this_thread::get_id();
        ended.set_value(*result);
      });

  EXPECT_EQ(ended.get_future().get(), 7);
  EXPECT_EQ(called_back_on, polled_on);
}

TEST_F(AsyncWaiterTest, SecondAnswerIsIgnored) {
  WaitEngine engine(Simulated());
  const WaitHandle wait =
      engine.Start(AsyncWaiter(
                       [this](PollCompletion<> done) {
                         ++polls_;
                         done(false);
                         done(true);
                         done(absl::AbortedError("contradiction"));
                       },
                       EverySecond(Seconds(3))),
                   results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_EQ(results_.reports()[0].count(PollStatus::kNotReady), polls_);
  EXPECT_EQ(polls_, 4);
}

TEST_F(AsyncWaiterTest, AnswerOfAnEarlierPollIsIgnored) {
  WaitEngine engine(Simulated());
  WaitHandle wait =
      engine.Start(AsyncWaiter(Keep(), EverySecond()), results_.Take());
  engine.RunDue();
  ASSERT_THAT(completions_, SizeIs(1));
  completions_[0](false);
  engine.RunDue();
  completions_[0](true);  // During the sleep.
  engine.RunDue();
  clock_.AdvanceTime(Seconds(1));
  engine.RunDue();
  ASSERT_THAT(completions_, SizeIs(2));
  completions_[0](true);  // During the second poll.
  engine.RunDue();
  EXPECT_THAT(results_.reports(), IsEmpty());
  completions_[1](absl::AbortedError("the end"));
  completions_[0](true);
  engine.RunDue();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
  EXPECT_EQ(results_.reports()[0].attempts, 2);
  EXPECT_FALSE(wait.pending());
}

TEST_F(AsyncWaiterTest, PollWithoutAnAnswerEndsAtTheDeadline) {
  for (const ReportLevel level : {ReportLevel::kLean, ReportLevel::kFull}) {
    Results results;
    WaitEngineOptions options = Simulated();
    options.report = level;
    const absl::Duration start = clock_.Elapsed();
    WaitEngine engine(options);
    WaitOptions wait_options = EverySecond(Milliseconds(4500));
    wait_options.poll_timeout = Seconds(2);  // Does not end the poll.
    waiter::stop_token stop;
    completions_.clear();
    const WaitHandle wait = engine.Start(
        AsyncWaiter(
            [&, keep = Keep()](const PollContext& context,
                               const PollCompletion<>& done) mutable {
              EXPECT_EQ(context.timeout, Seconds(2));
              stop = context.stop_token;
              keep(done);
            },
            wait_options),
        results.Take());
    engine.Run();

    EXPECT_TRUE(stop.stop_requested());
    EXPECT_THAT(completions_, SizeIs(1));
    ASSERT_THAT(results.reasons(), ElementsAre(StopReason::kDeadline));
    EXPECT_THAT(
        results.reports()[0].status,
        StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("not answered")));
    EXPECT_EQ(results.reports()[0].elapsed, Milliseconds(4500));
    EXPECT_EQ(clock_.Elapsed() - start, Milliseconds(4500));
    EXPECT_EQ(held(), 0);
    completions_[0](true);  // Too late.
    engine.Run();
    EXPECT_THAT(results.reports(), SizeIs(1));
  }
}

TEST_F(AsyncWaiterTest, DroppedCompletionGivesNoAnswer) {
  WaitEngine engine(Simulated());
  const WaitHandle wait = engine.Start(
      AsyncWaiter([](PollCompletion<>) {}, EverySecond(Seconds(3))),
      results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_EQ(clock_.Elapsed(), Seconds(3));
}

TEST_F(AsyncWaiterTest, CancelEndsAPollWithoutAnAnswer) {
  WaitEngine engine(Simulated());
  WaitHandle wait =
      engine.Start(AsyncWaiter(Keep(), EverySecond(absl::InfiniteDuration())),
                   TakeHolding());
  clock_.CallAt(Milliseconds(1500), [&] { wait.Cancel(); });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(clock_.Elapsed(), Milliseconds(1500));
  EXPECT_EQ(held(), 0);
  completions_.at(0)(true);
  engine.Run();
  EXPECT_THAT(results_.reports(), SizeIs(1));
}

TEST_F(AsyncWaiterTest, CancelReachesTheTokenOfAPollWithoutAnAnswer) {
  WaitEngine engine(Simulated());
  std::optional<waiter::stop_token> token;
  WaitHandle wait = engine.Start(
      AsyncWaiter([&](const PollContext& context,
                      PollCompletion<>) { token = context.stop_token; },
                  EverySecond()),
      results_.Take());
  engine.RunDue();
  ASSERT_TRUE(token.has_value());
  EXPECT_FALSE(token->stop_requested());
  wait.Cancel();
  EXPECT_TRUE(token->stop_requested());
  engine.Run();
}

TEST_F(AsyncWaiterTest, CancelInsideTheFunctionLetsItsAnswerWin) {
  for (const std::optional<bool> answer :
       {std::optional(true), std::optional(false), std::optional<bool>()}) {
    Results results;
    WaitEngine engine(Simulated());
    WaitHandle wait;
    wait = engine.Start(AsyncWaiter(
                            [&](PollCompletion<> done) {
                              wait.Cancel();
                              if (answer.has_value()) done(*answer);
                            },
                            EverySecond()),
                        results.Take());
    engine.Run();
    EXPECT_THAT(results.reasons(),
                ElementsAre(answer == true ? StopReason::kSuccess
                                           : StopReason::kCancelled));
  }
}

TEST_F(AsyncWaiterTest, DestroyingTheHandleAwaitsNoAnswer) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait =
      engine.Start(AsyncWaiter(Keep(), EverySecond()), TakeHolding());
  engine.RunDue();
  EXPECT_EQ(held(), 2);
  wait.reset();
  EXPECT_EQ(held(), 0);
  completions_.at(0)(true);
  engine.Run();

  EXPECT_THAT(results_.reports(), IsEmpty());
  EXPECT_EQ(clock_.Elapsed(), ZeroDuration());
}

TEST_F(AsyncWaiterTest, DestroyingTheHandleInTheFunctionIsHarmless) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait;
  wait = engine.Start(AsyncWaiter(
                          [&, token = token_](PollCompletion<> done) {
                            wait.reset();
                            EXPECT_EQ(held(), 2);
                            done(true);
                          },
                          EverySecond()),
                      TakeHolding());

  engine.Run();

  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(AsyncWaiterTest, AnswerAfterTheEndOfTheEngineIsIgnored) {
  {
    WaitEngine engine(Simulated());
    engine.Start(AsyncWaiter(Keep(), EverySecond()), TakeHolding()).Detach();
    engine.RunDue();
  }
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kShutDown));
  EXPECT_EQ(held(), 0);
  completions_.at(0)(true);
  completions_.at(0)(absl::AbortedError("late"));
  EXPECT_THAT(results_.reports(), SizeIs(1));
}

// A reused record does not accept the answer to its previous wait.
TEST_F(AsyncWaiterTest, AnswerToAnEndedWaitDoesNotReachALaterOne) {
  WaitEngine engine(Simulated());
  WaitHandle first =
      engine.Start(AsyncWaiter(Keep(), EverySecond()), results_.Take());
  engine.RunDue();
  first.Cancel();
  engine.RunDue();
  std::vector<WaitHandle> later;
  later.reserve(10);
  for (int i = 0; i < 10; ++i) {
    later.push_back(
        engine.Start(AsyncWaiter(Keep(), EverySecond()), results_.Take()));
  }
  engine.RunDue();
  completions_.at(0)(true);
  engine.RunDue();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));

  completions_.at(1)(true);
  engine.RunDue();
  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kCancelled, StopReason::kSuccess));
}

TEST_F(AsyncWaiterTest, ExceptionEndsTheWaitWhateverWasAnswered) {
  for (const std::optional<bool> answer :
       {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    polls_ = 0;
    Results results;
    WaitEngine engine(Simulated());
    const WaitHandle wait =
        engine.Start(AsyncWaiter(
                         [this, answer, token = token_](PollCompletion<> done) {
                           ++polls_;
                           if (answer.has_value()) done(*answer);
                           throw std::runtime_error("broken");
                         },
                         EverySecond()),
                     results.Take());
    engine.Run();

    ASSERT_THAT(results.reports(), SizeIs(1));
    EXPECT_EQ(held(), 0);
    EXPECT_EQ(polls_, 1);
    EXPECT_EQ(results.reasons()[0], StopReason::kFailed);
    EXPECT_TRUE(results.reports()[0].exception);
  }
}

TEST_F(AsyncWaiterTest, ManyImmediateAnswersTakeNoStack) {
  constexpr int kPolls = 100'000;
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  const WaitHandle wait = engine.Start(
      AsyncWaiter([this](PollCompletion<> done) { done(++polls_ == kPolls); },
                  options),
      results_.Take());

  engine.Run();

  EXPECT_EQ(polls_, kPolls);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(AsyncWaiterTest, InvalidOptionsReachTheCallback) {
  WaitEngine engine(Simulated());
  const WaitHandle no_timeout = engine.Start(
      AsyncWaiter(Keep(), WaitOptions{.clock = &clock_}), results_.Take());
  const WaitHandle no_function =
      engine.Start(AsyncWaiter(static_cast<void (*)(PollCompletion<>)>(nullptr),
                               EverySecond()),
                   results_.Take());
  EXPECT_THAT(results_.reports(), IsEmpty());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kInvalidOptions,
                                              StopReason::kInvalidOptions));
  EXPECT_THAT(polled_at_, IsEmpty());
}

struct TakesNothing {
  void operator()() const {}
};
static_assert(AsyncStatusFunction<void (*)(PollCompletion<>)>);
static_assert(
    AsyncStatusFunction<int (*)(const PollContext&, PollCompletion<int>)>);
static_assert(!AsyncStatusFunction<TakesNothing>);
static_assert(!AsyncStatusFunction<void (*)(int)>);

TEST(PollCompletionTest, TakesEveryAnswerOfAWaitForABool) {
  SimulatedClock clock;
  WaitEngine engine({.threads = 0, .clock = &clock});
  std::vector<std::string> ends;
  const auto start = [&](auto answer) {
    engine
        .Start(AsyncWaiter(
                   [answer](const PollCompletion<bool>& done) { done(answer); },
                   {.timeout = absl::ZeroDuration(), .clock = &clock}),
               [&](const WaitResult<bool>& result) {
                 ends.push_back(!result.ok() ? "error"
                                : *result    ? "true"
                                             : "false");
               })
        .Detach();
    engine.Run();
  };

  start(absl::StatusOr<bool>(true));
  start(absl::StatusOr<bool>(false));
  start(absl::StatusOr<bool>(absl::NotFoundError("gone")));
  EXPECT_EQ(ends, (std::vector<std::string>{"true", "false", "error"}));
}

// An answer that merely converts to bool, or to the value, is a mistake.
TEST(PollCompletionTest, NumbersAndTextsAreNoAnswers) {
  using Done = const PollCompletion<>&;
  using DoneWithInt = const PollCompletion<int>&;
  static_assert(std::invocable<Done, bool>);
  static_assert(std::invocable<Done, Poll<>>);
  static_assert(std::invocable<Done, absl::Status>);
  static_assert(std::invocable<Done, absl::StatusOr<bool>>);
  static_assert(!std::invocable<Done, int>);
  static_assert(!std::invocable<Done, const char*>);
  static_assert(std::invocable<DoneWithInt, Poll<int>>);
  static_assert(std::invocable<DoneWithInt, Poll<>>);
  static_assert(std::invocable<DoneWithInt, absl::Status>);
  static_assert(std::invocable<DoneWithInt, absl::StatusOr<int>>);
  static_assert(!std::invocable<DoneWithInt, int>);
  static_assert(!std::invocable<DoneWithInt, bool>);
}

TEST(AsyncWaiterTypesTest, FunctionMayBeNoexcept) {
  const auto poll = [](const PollCompletion<>& done) noexcept { done(true); };
  static_assert(AsyncStatusFunction<decltype(poll)>);
}

}  // namespace
}  // namespace waiter::async_waiter_test
