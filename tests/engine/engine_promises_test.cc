// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Promises of the engine's headers that only special orders of events put to
// the test.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/async_waiter.h"
#include "waiter/clock.h"
#include "waiter/observer.h"
#include "waiter/poll_completion.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_engine_options.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_report.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EnginePromisesTest : public EngineFixture {
 protected:
  void Sleep(absl::Duration duration) {
    clock_.SleepUntil(
        clock_.MonotonicNow() + absl::ToChronoNanoseconds(duration), {},
        "a slow poll");
  }

  // Runs an asynchronous wait of 10 s that is answered at `time`, while a poll
  // of another wait takes from 9.7 s to 10.2 s.
  void AnswerBehindASlowPoll(absl::Duration time) {
    WaitEngine engine(Simulated());
    std::optional<PollCompletion<>> completion;
    const WaitHandle asynchronous = engine.Start(
        AsyncWaiter([&](const PollCompletion<>& done) { completion = done; },
                    EverySecond(absl::Seconds(10))),
        results_.Take());
    engine.RunDue();
    clock_.CallAt(time, [&] { (*completion)(true); });
    WaitOptions slow = EverySecond();
    slow.first_poll_delay = absl::Milliseconds(9700);
    const WaitHandle synchronous =
        engine.Start(Waiter(
                         [this] {
                           Sleep(absl::Milliseconds(500));
                           return true;
                         },
                         slow),
                     [](const WaitResult<>&) {});
    engine.Run();
  }
};

// Destroys a handle in one of its hooks.
class Destroyer : public WaitObserver {
 public:
  enum class Hook { kBeforePoll, kAfterPoll, kBeforeSleep, kOnDone };

  explicit Destroyer(Hook hook) : hook_(hook) {}

  void BeforePoll(std::string_view /*name*/, int64_t /*attempt*/) override {
    DestroyIn(Hook::kBeforePoll);
  }
  void AfterPoll(const PollEvent& /*poll*/) override {
    DestroyIn(Hook::kAfterPoll);
  }
  void BeforeSleep(const SleepEvent& /*sleep*/) override {
    DestroyIn(Hook::kBeforeSleep);
  }
  void OnDone(std::string_view /*name*/,
              const WaitReport& /*report*/) override {
    ++ends_;
    DestroyIn(Hook::kOnDone);
  }

  std::optional<WaitHandle> wait_;
  int ends_ = 0;

 private:
  void DestroyIn(Hook hook) {
    if (hook == hook_) wait_.reset();
  }

  const Hook hook_;
};

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInAnyHook) {
  for (const auto hook :
       {Destroyer::Hook::kBeforePoll, Destroyer::Hook::kAfterPoll,
        Destroyer::Hook::kBeforeSleep, Destroyer::Hook::kOnDone}) {
    for (const absl::Duration first_delay :
         {absl::ZeroDuration(), absl::Seconds(3)}) {
      SCOPED_TRACE(static_cast<int>(hook));
      Destroyer observer(hook);
      polls_ = 0;
      Results results;
      WaitEngine engine(Simulated());
      WaitOptions options = EverySecond(absl::Seconds(5));
      options.first_poll_delay = first_delay;
      options.observer = &observer;
      observer.wait_ = engine.Start(
          Waiter([this] { return CountPoll(false); }, options), results.Take());

      engine.Run();

      EXPECT_FALSE(observer.wait_.has_value());
      EXPECT_EQ(observer.ends_, 1);
      if (hook == Destroyer::Hook::kBeforePoll) {
        EXPECT_EQ(polls_, 0);
      }
      if (hook != Destroyer::Hook::kOnDone) {
        EXPECT_THAT(results.reports(), IsEmpty());
      }
    }
  }
}

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInOnDoneOfACancelledWait) {
  Destroyer observer(Destroyer::Hook::kOnDone);
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.observer = &observer;
  observer.wait_ = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());
  engine.RunDue();

  observer.wait_->Cancel();
  engine.Run();

  EXPECT_EQ(observer.ends_, 1);
  EXPECT_FALSE(observer.wait_.has_value());
}

TEST_F(EnginePromisesTest, HandleMayBeDestroyedInOnDoneOfInvalidOptions) {
  Destroyer observer(Destroyer::Hook::kOnDone);
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.max_attempts = -1;
  options.observer = &observer;
  observer.wait_ = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), results_.Take());

  engine.Run();

  EXPECT_FALSE(observer.wait_.has_value());
}

// The callback of one wait destroys the handle of a second, whose task owns the
// handle of the first.
TEST_F(EnginePromisesTest, TasksMayOwnEachOthersHandles) {
  WaitEngine engine(Simulated());
  auto first = std::make_shared<std::optional<WaitHandle>>();
  std::optional<WaitHandle> second = engine.Start(
      Waiter([this, first] { return CountPoll(false); }, EverySecond()),
      results_.Take());
  *first = engine.Start(Waiter([] { return true; }, EverySecond()),
                        [&second, this](WaitResult<> result) {
                          second.reset();
                          results_.Take()(std::move(result));
                        });
  first.reset();

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EnginePromisesTest, AnswerGivenInTimeIsNotLostBehindASlowPoll) {
  AnswerBehindASlowPoll(absl::Milliseconds(9800));

  ASSERT_EQ(results_.reports().size(), 1);
  EXPECT_EQ(results_.reports()[0].reason, StopReason::kSuccess);
  EXPECT_FALSE(results_.reports()[0].late);
  EXPECT_EQ(results_.reports()[0].elapsed, absl::Milliseconds(9800));
}

TEST_F(EnginePromisesTest, AnswerGivenAfterTheDeadlineIsTooLate) {
  AnswerBehindASlowPoll(absl::Milliseconds(10100));

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
}

TEST_F(EnginePromisesTest, SlackDoesNotStretchAPollThatNeverAnswers) {
  WaitEngineOptions options = Simulated();
  options.relative_slack = 0.125;
  WaitEngine engine(options);
  WaitHandle wait = engine.Start(AsyncWaiter([](const PollCompletion<>&) {},
                                             EverySecond(absl::Minutes(5))),
                                 results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(5));
}

TEST_F(EnginePromisesTest, SlackLeavesTheLeadOfTheFinalPoll) {
  WaitEngineOptions options = Simulated();
  options.relative_slack = 1;
  WaitEngine engine(options);
  std::vector<absl::Duration> polls;
  WaitOptions wait_options = EverySecond(absl::Seconds(20));
  wait_options.backoff = Every(absl::Seconds(60));
  wait_options.final_poll_lead = absl::Seconds(5);
  WaitHandle wait = engine.Start(Waiter(
                                     [&] {
                                       polls.push_back(clock_.Elapsed());
                                       return false;
                                     },
                                     wait_options),
                                 results_.Take());

  engine.Run();

  EXPECT_THAT(polls, ElementsAre(absl::ZeroDuration(), absl::Seconds(15)));
}

TEST_F(EnginePromisesTest, RunDueReturnsMaxAfterTheOnlyWaitWasCancelled) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), results_.Take());
  EXPECT_LT(engine.RunDue(), MonotonicTime::max());

  wait.Cancel();

  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(EnginePromisesTest, PollQueuedOnAnExecutorDoesNotRunAfterCancel) {
  std::vector<absl::AnyInvocable<void()>> tasks;
  WaitEngineOptions options = Simulated();
  options.executor = [&](absl::AnyInvocable<void()> task) {
    tasks.push_back(std::move(task));
  };
  WaitEngine engine(options);
  WaitHandle wait =
      engine.Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
                   results_.Take());
  engine.RunDue();
  ASSERT_EQ(tasks.size(), 1);

  wait.Cancel();
  std::move(tasks[0])();
  engine.RunDue();

  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

}  // namespace
}  // namespace waiter
