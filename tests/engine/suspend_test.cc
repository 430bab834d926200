// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitHandle::Suspend`, at every moment of a wait.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::suspend_test {
namespace {

using ::absl::Hours;
using ::absl::Milliseconds;
using ::absl::Seconds;
using ::absl::ZeroDuration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SuspendTest : public EngineFixture {
 protected:
  // Returns a function for `Suspend`.
  auto Save() {
    return [this](WaitToken token) { saved_.push_back(std::move(token)); };
  }

  WaitOptions Growing() {
    return {.timeout = Seconds(100),
            .backoff = {.initial_delay = Seconds(1),
                        .max_delay = Hours(1),
                        .multiplier = 2,
                        .jitter = Jitter::None(),
                        .min_delay = ZeroDuration()},
            .clock = &clock_};
  }

  // Ends a wait of `saved_.back()` at the next poll, and returns its report.
  WaitReport ResumeAndSucceed(WaitOptions options) {
    Results results;
    WaitEngine engine(Simulated());
    engine
        .Start(Waiter([this] { return CountPoll(true); }, std::move(options)),
               results.Take(), {.resume = saved_.back()})
        .Detach();
    engine.Run();
    EXPECT_THAT(results.reasons(), ElementsAre(StopReason::kSuccess));
    return results.reports().at(0);
  }

  std::vector<WaitToken> saved_;
};

// The saved state.

TEST_F(SuspendTest, SleepingWaitIsSavedAndDoesNotCallBack) {
  WaitEngine engine(Simulated());
  WaitHandle wait =
      engine.Start(NeverReady(), TakeHolding(), {.name = "i-0abc"});
  clock_.CallAt(Milliseconds(2300), [&] { wait.Suspend(Save()); });

  engine.Run();

  EXPECT_THAT(results_.reports(), IsEmpty());
  EXPECT_FALSE(wait.pending());
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(clock_.Elapsed(), Milliseconds(2300));
  ASSERT_THAT(saved_, SizeIs(1));
  const absl::Time start = clock_.TimeNow() - Milliseconds(2300);
  EXPECT_EQ(saved_[0].name(), "i-0abc");
  EXPECT_EQ(saved_[0].attempts(), 3);
  EXPECT_EQ(saved_[0].written(), clock_.TimeNow());
  EXPECT_EQ(saved_[0].wake_up(), start + Seconds(3));
  EXPECT_EQ(saved_[0].deadline(), start + Hours(1));
}

// Polls at 0, 1, 3, 7, 15, 31, 63 and 100 s.
class ResumedWaitTest : public SuspendTest {
 protected:
  // Starts the wait, or resumes it if `token` is not empty.
  WaitHandle Begin(WaitEngine& engine, bool has_context, WaitToken token) {
    if (has_context) {
      return engine.Start(
          Waiter([this](const PollContext&) { return Poll(); }, Growing()),
          results_.Take(), {.resume = std::move(token)});
    }
    return engine.Start(Waiter([this] { return Poll(); }, Growing()),
                        results_.Take(), {.resume = std::move(token)});
  }
  bool Poll() {
    polled_at_.push_back(clock_.Elapsed());
    return false;
  }

  // Polls until the deadline, with a suspension and a resumption on the way,
  // and checks that these make no difference.
  void ExpectNoDifference(const WaitEngineOptions& options, bool has_context,
                          absl::Duration suspended_at, absl::Duration pause) {
    SCOPED_TRACE(absl::FormatDuration(suspended_at));
    const absl::Duration origin = clock_.Elapsed();
    polled_at_.clear();
    results_ = {};
    WaitEngine engine(options);
    WaitEngine other(options);
    WaitHandle resumed;
    WaitHandle wait = Begin(engine, has_context, WaitToken());
    clock_.CallAt(origin + suspended_at, [&] {
      wait.Suspend([&](WaitToken token) {
        EXPECT_FALSE(token.empty());
        resumed = Begin(other, has_context, std::move(token));
      });
    });
    engine.Run();
    clock_.AdvanceTime(pause);
    other.Run();

    for (absl::Duration& time : polled_at_) time -= origin;
    EXPECT_THAT(polled_at_, ElementsAre(ZeroDuration(), Seconds(1), Seconds(3),
                                        Seconds(7), Seconds(15), Seconds(31),
                                        Seconds(63), Seconds(100)));
    EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
    EXPECT_EQ(results_.reports().at(0).attempts, 8);
    EXPECT_EQ(results_.reports().at(0).elapsed, Seconds(100));
    if (options.report == ReportLevel::kFull) {
      EXPECT_EQ(results_.reports().at(0).slept, Seconds(100));
    }
  }

  std::vector<absl::Duration> polled_at_;
};

TEST_F(ResumedWaitTest, PollsAsIfItHadNotBeenSuspended) {
  for (const absl::Duration tick : {ZeroDuration(), Milliseconds(1)}) {
    for (const ReportLevel report : {ReportLevel::kFull, ReportLevel::kLean}) {
      for (const bool has_context : {false, true}) {
        WaitEngineOptions options = Simulated();
        options.tick = tick;
        options.report = report;
        for (const double at : {0.5, 1.5, 6.9, 31.5, 64.0, 99.5}) {
          ExpectNoDifference(options, has_context, Seconds(at), ZeroDuration());
          ExpectNoDifference(options, has_context, Seconds(at),
                             Milliseconds(50));
        }
      }
    }
  }
}

TEST_F(ResumedWaitTest, PollsAtOnceIfItsTimeHasPassed) {
  WaitEngine engine(Simulated());
  WaitHandle wait = Begin(engine, /*has_context=*/false, WaitToken());
  clock_.CallAt(Seconds(5), [&] { wait.Suspend(Save()); });
  engine.Run();
  clock_.AdvanceTime(Seconds(200));

  const WaitReport report = ResumeAndSucceed(Growing());

  EXPECT_EQ(report.attempts, 4);
  EXPECT_EQ(report.elapsed, Seconds(205));
  EXPECT_TRUE(report.late);
}

TEST_F(SuspendTest, SavesAWaitThatSleepsBeyondTheReachOfTheTimerWheel) {
  for (const absl::Duration tick : {ZeroDuration(), Milliseconds(1)}) {
    saved_.clear();
    WaitEngineOptions options = Simulated();
    options.tick = tick;
    WaitEngine engine(options);
    WaitOptions far = EverySecond(absl::InfiniteDuration());
    far.backoff = Every(Hours(24 * 100));
    WaitHandle wait =
        engine.Start(Waiter([] { return false; }, far), TakeHolding());
    const absl::Time start = clock_.TimeNow();
    engine.RunDue();
    clock_.AdvanceTime(Seconds(1));
    wait.Suspend(Save());
    engine.RunDue();

    ASSERT_THAT(saved_, SizeIs(1));
    EXPECT_EQ(saved_[0].wake_up(), start + Hours(24 * 100));
    EXPECT_EQ(saved_[0].deadline(), absl::InfiniteFuture());
  }
}

TEST_F(SuspendTest, ErrorsAndTheNameOfAWaitAreSaved) {
  WaitEngine engine(Simulated());
  WaitHandle wait =
      engine.Start(Waiter(
                       []() -> Poll<> {
                         return ServerError(absl::UnavailableError("down"));
                       },
                       EverySecond()),
                   TakeHolding(), {.name = "i-0abc"});
  clock_.CallAt(Seconds(4.5), [&] { wait.Suspend(Save()); });
  engine.Run();
  ASSERT_THAT(saved_, SizeIs(1));

  Results results;
  engine.Start(Ready(), results.Take(), {.name = "i-0abc", .resume = saved_[0]})
      .Detach();
  engine.Run();

  ASSERT_THAT(results.reports(), SizeIs(1));
  ASSERT_TRUE(results.reports()[0].last_error.has_value());
  EXPECT_EQ(results.reports()[0].last_error->error(),
            absl::UnavailableError("down"));
  EXPECT_GT(results.reports()[0].attempts, 1);
}

// Before the first poll.

TEST_F(SuspendTest, WaitThatHasNotBegunHasAnEmptyToken) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  wait.Suspend(Save());
  EXPECT_THAT(saved_, IsEmpty());

  engine.Run();

  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_TRUE(saved_[0].empty());
  EXPECT_EQ(ResumeAndSucceed(EverySecond()).attempts, 1);
}

TEST_F(SuspendTest, WaitThatHasNotResumedHasTheSameToken) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  clock_.CallAt(Seconds(2.5), [&] { wait.Suspend(Save()); });
  engine.Run();
  ASSERT_THAT(saved_, SizeIs(1));
  polls_ = 0;
  wait = engine.Start(NeverReady(), TakeHolding(), {.resume = saved_[0]});
  wait.Suspend(Save());
  engine.Run();

  EXPECT_EQ(polls_, 0);
  ASSERT_THAT(saved_, SizeIs(2));
  EXPECT_EQ(saved_[1].bytes(), saved_[0].bytes());
}

TEST_F(SuspendTest, FirstDelayIsSaved) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.polls.first_delay = Seconds(10);
  const absl::Time start = clock_.TimeNow();
  WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(false); }, options), TakeHolding());
  clock_.CallAt(Seconds(4), [&] { wait.Suspend(Save()); });
  engine.Run();

  EXPECT_EQ(polls_, 0);
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(saved_[0].wake_up(), start + Seconds(10));
}

// Inside the wait's functions and hooks.

TEST_F(SuspendTest, PollThatSuspendsItsWaitCounts) {
  for (const bool answer : {false, true}) {
    saved_.clear();
    Results results;
    WaitEngine engine(Simulated());
    WaitHandle wait;
    wait = engine.Start(Waiter(
                            [&] {
                              wait.Suspend(Save());
                              EXPECT_THAT(saved_, IsEmpty());
                              return answer;
                            },
                            EverySecond()),
                        results.Take());
    engine.Run();

    if (answer) {
      EXPECT_THAT(results.reasons(), ElementsAre(StopReason::kSuccess));
      EXPECT_THAT(saved_, IsEmpty());
    } else {
      EXPECT_THAT(results.reports(), IsEmpty());
      ASSERT_THAT(saved_, SizeIs(1));
      EXPECT_EQ(saved_[0].attempts(), 1);
      EXPECT_EQ(saved_[0].wake_up(), clock_.TimeNow() + Seconds(1));
    }
  }
}

TEST_F(SuspendTest, PollWithoutADelayBeforeTheNextOneIsTheLast) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond();
  options.backoff = Every(ZeroDuration());
  WaitHandle wait;
  wait = engine.Start(Waiter(
                          [&] {
                            if (polls_ == 2) wait.Suspend(Save());
                            return CountPoll(false);
                          },
                          options),
                      TakeHolding());
  engine.Run();

  EXPECT_EQ(polls_, 3);
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(saved_[0].attempts(), 3);
  EXPECT_EQ(ResumeAndSucceed(options).attempts, 4);
}

TEST_F(SuspendTest, CallbackThatSuspendsItsWaitDoesNothing) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  const auto counted = std::make_shared<int>();
  wait = engine.Start(Ready(), [&](WaitResult<> result) {
    wait.Suspend([counted](const WaitToken&) { FAIL(); });
    results_.Take()(std::move(result));
  });
  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(counted.use_count(), 1);
  wait.Suspend(Save());
  WaitHandle().Suspend(Save());
  engine.Run();
  EXPECT_THAT(saved_, IsEmpty());
}

TEST_F(SuspendTest, GiveUpThatSuspendsItsWaitDoesNothing) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  WaitOptions options = EverySecond();
  options.max_attempts = 1;
  options.hooks.on_failure = [&](const WaitFailure&) { wait.Suspend(Save()); };
  wait = engine.Start(Waiter([] { return false; }, options), results_.Take());
  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kAttempts));
  EXPECT_THAT(saved_, IsEmpty());
}

TEST_F(SuspendTest, CheckpointThatSuspendsItsWaitIsTheState) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  std::vector<WaitToken> checkpoints;
  WaitOptions options = EverySecond();
  options.hooks.on_checkpoint = [&](const WaitToken& token) {
    checkpoints.push_back(token);
    if (checkpoints.size() == 3) wait.Suspend(Save());
  };
  wait = engine.Start(Waiter([this] { return CountPoll(false); }, options),
                      results_.Take());
  engine.Run();

  EXPECT_EQ(polls_, 3);
  EXPECT_THAT(results_.reports(), IsEmpty());
  ASSERT_THAT(checkpoints, SizeIs(3));
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(saved_[0].bytes(), checkpoints[2].bytes());
}

class SuspendingObserver : public WaitObserver {
 public:
  void OnStart(const StartEvent&) override { Call("start"); }
  void BeforePoll(const WaitIdentity&, int64_t) override { Call("poll"); }
  void AfterPoll(const PollEvent& poll) override {
    Call(poll.answered ? "answer" : "no answer");
  }
  void BeforeSleep(const SleepEvent&) override { Call("sleep"); }
  void OnDone(const WaitIdentity&, const WaitReport& report) override {
    reason = report.reason;
    text = std::string(report.status.message());
    Call("done");
  }

  std::vector<std::string> calls;
  std::string suspend_in;
  std::function<void()> suspend;
  std::optional<StopReason> reason;
  std::string text;

 private:
  void Call(const std::string& name) {
    calls.push_back(name);
    if (name == suspend_in) suspend();
  }
};

TEST_F(SuspendTest, EveryHookMaySuspend) {
  for (const std::string hook : {"start", "poll", "answer", "sleep", "done"}) {
    SCOPED_TRACE(hook);
    saved_.clear();
    polls_ = 0;
    Results results;
    WaitEngine engine(Simulated());
    WaitHandle wait;
    const auto observer = std::make_shared<SuspendingObserver>();
    observer->suspend_in = hook;
    observer->suspend = [&] { wait.Suspend(Save()); };
    WaitOptions options = EverySecond(Seconds(1));
    options.hooks.observer = observer;
    wait = engine.Start(Waiter([this] { return CountPoll(false); }, options),
                        results.Take());
    engine.Run();

    const bool is_late = hook == "done";
    EXPECT_THAT(results.reports(), SizeIs(is_late ? 1 : 0));
    EXPECT_THAT(saved_, SizeIs(is_late ? 0 : 1));
    EXPECT_EQ(observer->reason,
              is_late ? StopReason::kDeadline : StopReason::kCancelled);
    if (hook == "start" || hook == "poll") {
      EXPECT_EQ(polls_, 0);
      EXPECT_THAT(observer->calls,
                  ElementsAre("start", "poll", "no answer", "done"));
      EXPECT_THAT(observer->text, HasSubstr("suspended"));
      EXPECT_EQ(saved_[0].wake_up(), clock_.TimeNow());
    } else if (!is_late) {
      EXPECT_EQ(polls_, 1);
      EXPECT_THAT(observer->calls,
                  ElementsAre("start", "poll", "answer", "sleep", "done"));
    }
  }
}

TEST_F(SuspendTest, ObserversSeeAStartAndAnEndOfAWaitThatHasNotBegun) {
  WaitEngine engine(Simulated());
  const auto observer = std::make_shared<SuspendingObserver>();
  WaitOptions options = EverySecond();
  options.hooks.observer = observer;
  WaitHandle wait =
      engine.Start(Waiter([] { return false; }, options), results_.Take());
  wait.Suspend(Save());
  engine.Run();

  EXPECT_THAT(observer->calls, ElementsAre("start", "done"));
}

// Polls in progress.

TEST_F(SuspendTest, AsynchronousPollUnderWayIsDroppedAndMadeAgain) {
  WaitEngine engine(Simulated());
  std::vector<PollCompletion<>> pending;
  waiter::stop_token stop;
  const auto begin = [&](const PollContext& context, PollCompletion<> done) {
    stop = context.stop_token;
    pending.push_back(std::move(done));
  };
  WaitHandle wait =
      engine.Start(AsyncWaiter(begin, EverySecond()), results_.Take());
  engine.RunDue();
  pending[0](false);
  engine.RunDue();
  clock_.AdvanceTime(Seconds(1));
  engine.RunDue();
  ASSERT_THAT(pending, SizeIs(2));
  clock_.AdvanceTime(Milliseconds(500));
  wait.Suspend(Save());
  EXPECT_FALSE(stop.stop_requested());
  engine.RunDue();

  EXPECT_TRUE(stop.stop_requested());
  pending[1](true);
  engine.RunDue();
  EXPECT_THAT(results_.reports(), IsEmpty());
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(saved_[0].attempts(), 1);
  EXPECT_EQ(saved_[0].wake_up(), clock_.TimeNow());
  wait = engine.Start(AsyncWaiter(begin, EverySecond()), results_.Take(),
                      {.resume = saved_[0]});
  engine.RunDue();
  ASSERT_THAT(pending, SizeIs(3));
  pending[2](true);
  engine.RunDue();
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(results_.reports()[0].attempts, 2);
}

TEST_F(SuspendTest, AnswerThatWasGivenBeforeCounts) {
  for (const bool answer : {false, true}) {
    saved_.clear();
    Results results;
    WaitEngine engine(Simulated());
    std::optional<PollCompletion<>> pending;
    WaitHandle wait = engine.Start(
        AsyncWaiter([&](PollCompletion<> done) { pending = std::move(done); },
                    EverySecond()),
        results.Take());
    engine.RunDue();
    (*pending)(answer);
    wait.Suspend(Save());
    engine.RunDue();

    EXPECT_THAT(results.reports(), SizeIs(answer ? 1 : 0));
    ASSERT_THAT(saved_, SizeIs(answer ? 0 : 1));
    if (answer) continue;
    EXPECT_EQ(saved_[0].attempts(), 1);
  }
}

// A stop callback answers, and destroys the handle.
TEST_F(SuspendTest, PollThatIsToldToStopMayDestroyTheHandle) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  using StopCallback = waiter::stop_callback<std::function<void()>>;
  std::optional<StopCallback> on_stop;
  wait = engine.Start(
      AsyncWaiter(
          [&](const PollContext& context, const PollCompletion<>& done) {
            on_stop.emplace(context.stop_token, [&wait, done] {
              done(true);
              wait = WaitHandle();
            });
          },
          EverySecond()),
      TakeHolding());
  engine.RunDue();
  wait.Suspend(Save());
  engine.RunDue();

  EXPECT_THAT(saved_, IsEmpty());
  EXPECT_THAT(results_.reports(), IsEmpty());
  EXPECT_EQ(held(), 0);
}

TEST_F(SuspendTest, PollThatTheExecutorHasNotBegunIsNeverMade) {
  WaitEngine engine(Queued());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  ASSERT_THAT(tasks_, SizeIs(1));
  wait.Suspend(Save());
  // The poll does not run, even before the engine knows.
  RunTasks();
  engine.RunDue();

  EXPECT_EQ(polls_, 0);
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(saved_[0].attempts(), 0);
  EXPECT_FALSE(saved_[0].empty());
  EXPECT_EQ(held(), 0);
}

TEST_F(SuspendTest, PollThatTheExecutorHasBegunIsAwaitedAndCounts) {
  for (const bool answer : {false, true}) {
    saved_.clear();
    Results results;
    WaitEngine engine(Queued());
    WaitHandle wait;
    wait = engine.Start(Waiter(
                            [&](const PollContext& context) {
                              wait.Suspend(Save());
                              engine.RunDue();
                              EXPECT_THAT(saved_, IsEmpty());
                              EXPECT_FALSE(context.stop_token.stop_requested());
                              clock_.AdvanceTime(Seconds(5));
                              return answer;
                            },
                            EverySecond()),
                        results.Take());
    engine.RunDue();
    RunTasks();
    engine.RunDue();

    EXPECT_THAT(results.reports(), SizeIs(answer ? 1 : 0));
    ASSERT_THAT(saved_, SizeIs(answer ? 0 : 1));
    if (answer) continue;
    EXPECT_EQ(saved_[0].attempts(), 1);
    EXPECT_EQ(saved_[0].wake_up(), clock_.TimeNow() + Seconds(1));
  }
}

TEST_F(SuspendTest, DestroyingTheHandleDuringAPollOnTheExecutorDropsTheState) {
  WaitEngine engine(Queued());
  std::optional<WaitHandle> wait;
  wait =
      engine.Start(Waiter(
                       [&, token = token_] {
                         wait->Suspend([token](const WaitToken&) { FAIL(); });
                         engine.RunDue();
                         wait.reset();
                         return false;
                       },
                       EverySecond()),
                   TakeHolding());
  engine.RunDue();
  RunTasks();
  engine.RunDue();

  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

// Other requests.

TEST_F(SuspendTest, FirstOfCancelAndSuspendCounts) {
  for (const bool suspend_first : {false, true}) {
    saved_.clear();
    Results results;
    WaitEngine engine(Simulated());
    WaitHandle wait = engine.Start(Waiter([] { return false; }, EverySecond()),
                                   results.Take());
    engine.RunDue();
    if (suspend_first) wait.Suspend(Save());
    wait.Cancel();
    wait.Suspend([](const WaitToken&) { FAIL(); });
    engine.RunDue();

    EXPECT_THAT(saved_, SizeIs(suspend_first ? 1 : 0));
    EXPECT_THAT(results.reports(), SizeIs(suspend_first ? 0 : 1));
  }
}

TEST_F(SuspendTest, DestroyedHandleIsNotSaved) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  wait->Suspend([token = token_](const WaitToken&) { FAIL(); });
  wait.reset();
  engine.Run();

  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(SuspendTest, DetachedWaitIsSaved) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  wait.Suspend(Save());
  wait.Detach();
  engine.Run();

  EXPECT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(held(), 0);
}

TEST_F(SuspendTest, SuspendedMayDestroyTheHandleAndStartAWait) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  wait->Suspend([&](const WaitToken& token) {
    wait.reset();
    engine
        .Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
               results_.Take(), {.resume = token})
        .Detach();
  });
  engine.Run();

  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(results_.reports()[0].attempts, 2);
}

TEST_F(SuspendTest, PollThatWasRequestedBeforeComesFirstAfterTheResumption) {
  WaitEngine engine(Simulated());
  WaitHandle wait =
      engine.Start(Waiter([] { return false; }, Growing()), results_.Take());
  engine.RunDue();
  clock_.AdvanceTime(Milliseconds(500));
  wait.PollNow();
  wait.Suspend(Save());
  engine.RunDue();

  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(saved_[0].wake_up(), clock_.TimeNow());
  EXPECT_EQ(ResumeAndSucceed(Growing()).elapsed, Milliseconds(500));
}

TEST_F(SuspendTest, ExceptionGoesWhereThoseOfCallbacksGo) {
  std::string text;
  WaitEngineOptions options = Simulated();
  options.on_callback_exception = [&](const std::exception_ptr& exception) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
  };
  WaitEngine engine(options);
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  wait.Suspend([](const WaitToken&) { throw std::runtime_error("no disk"); });
  engine.Run();

  EXPECT_EQ(text, "no disk");
  EXPECT_EQ(held(), 0);
}

// Budgets.

TEST_F(SuspendTest, PaymentForTheNextPollIsPartOfTheState) {
  const std::shared_ptr<RetryQuota> quota =
      *RetryQuota::Make({.capacity = 100, .retry_cost = 14});
  WaitOptions options = EverySecond();
  options.errors.server_error_backoff = Every(Seconds(1));
  options.budgets.retry_quota = quota;
  bool is_up = false;
  const auto poll = [&]() -> Poll<> {
    if (is_up) return Success();
    return ServerError(absl::UnavailableError("down"));
  };
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(Waiter(poll, options), results_.Take());
  engine.RunDue();
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 86);
  wait.Suspend(Save());
  engine.RunDue();
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 86);
  ASSERT_THAT(saved_, SizeIs(1));

  // A wait that is cancelled before that poll gives the tokens back.
  wait = engine.Start(Waiter(poll, options), results_.Take(),
                      {.resume = saved_[0]});
  engine.RunDue();
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 86);
  wait.Cancel();
  engine.RunDue();
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 100);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));

  // So does one whose poll succeeds, and it does not pay again.
  QuotaToken paid;
  EXPECT_TRUE(quota->Acquire(QuotaUse::kRetry, clock_.MonotonicNow(), paid)
                  .has_value());
  is_up = true;
  wait = engine.Start(Waiter(poll, options), results_.Take(),
                      {.resume = saved_[0]});
  engine.Run();
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 100);
}

TEST_F(SuspendTest, PaymentForAPollUnderWayIsPartOfTheState) {
  const std::shared_ptr<RetryQuota> quota =
      *RetryQuota::Make({.capacity = 100, .retry_cost = 14});
  WaitOptions options = EverySecond();
  options.errors.server_error_backoff = Every(Seconds(1));
  options.budgets.retry_quota = quota;
  std::optional<PollCompletion<>> pending;
  const AsyncWaiter waiter(
      [&](PollCompletion<> done) { pending = std::move(done); }, options);
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(waiter, results_.Take());
  engine.RunDue();
  (*pending)(ServerError(absl::UnavailableError("down")));
  engine.RunDue();
  clock_.AdvanceTime(Seconds(1));
  engine.RunDue();
  wait.Suspend(Save());
  engine.RunDue();
  ASSERT_THAT(saved_, SizeIs(1));
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 86);
  wait = engine.Start(waiter, results_.Take(), {.resume = saved_[0]});
  engine.RunDue();
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 86);
  (*pending)(true);
  engine.RunDue();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 100);
}

// The end of the engine.

TEST_F(SuspendTest, RequestBeforeTheEndOfTheEngineComesFirst) {
  std::optional<WaitEngine> engine(Simulated());
  std::vector<WaitHandle> waits;
  for (int i = 0; i < 3; ++i) {
    waits.push_back(engine->Start(NeverReady(), TakeHolding()));
  }
  engine->RunDue();
  // This one has not begun.
  waits.push_back(engine->Start(NeverReady(), TakeHolding()));
  for (size_t i = 1; i < waits.size(); ++i) waits[i].Suspend(Save());
  engine.reset();

  EXPECT_THAT(saved_, SizeIs(3));
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kShutDown));
  waits[0].Suspend(Save());
  EXPECT_THAT(saved_, SizeIs(3));
}

// Calls `hook` once, when its time is read.
class HookedClock final : public Clock {
 public:
  explicit HookedClock(Clock& clock) : clock_(clock) {}

  absl::Time TimeNow() override { return clock_.TimeNow(); }
  MonotonicTime MonotonicNow() override {
    if (hook != nullptr) std::exchange(hook, nullptr)();
    return clock_.MonotonicNow();
  }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override {
    clock_.SleepUntil(wake_up, stop, who);
  }

  std::function<void()> hook;

 private:
  Clock& clock_;
};

TEST_F(SuspendTest, RequestDuringTheLastRoundComesFirst) {
  HookedClock clock(clock_);
  WaitEngineOptions engine_options = Simulated();
  engine_options.clock = &clock;
  std::optional<WaitEngine> engine(engine_options);
  WaitOptions options = EverySecond();
  options.clock = &clock;
  WaitHandle wait =
      engine->Start(Waiter([] { return false; }, options), results_.Take());
  engine->RunDue();
  // The round has taken its mail before it reads the clock.
  clock.hook = [&] {
    const JoiningThread other([&] { wait.Suspend(Save()); });
  };
  engine.reset();

  EXPECT_THAT(saved_, SizeIs(1));
  EXPECT_THAT(results_.reasons(), IsEmpty());
}

TEST_F(SuspendTest, ChainOfSuspendedWaitsDoesNotKeepTheEngineFromEnding) {
  std::optional<WaitEngine> engine(Simulated());
  WaitHandle wait = engine->Start(NeverReady(), TakeHolding());
  std::function<void(const WaitToken&)> again = [&](const WaitToken&) {
    if (engine.has_value() && saved_.size() < 1000) {
      saved_.emplace_back();
      wait = engine->Start(NeverReady(), TakeHolding());
      wait.Suspend(again);
    }
  };
  wait.Suspend(again);
  engine.reset();

  EXPECT_LT(saved_.size(), 100U);
  EXPECT_EQ(held(), 0);
}

}  // namespace
}  // namespace waiter::suspend_test
