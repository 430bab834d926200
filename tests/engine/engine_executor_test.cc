// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Engines that poll on the user's executor.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/thread_pool.h"
#include "tests/support/unowned.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::engine_executor_test {
namespace {

using ::absl::Hours;
using ::absl::Microseconds;
using ::absl::Seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Task = absl::AnyInvocable<void()>;

using EngineExecutorTest = EngineFixture;

TEST_F(EngineExecutorTest, PollsRunOnTheExecutorAndCallbacksOnTheEngine) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(true); }, EverySecond()), TakeHolding());
  engine.RunDue();
  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(tasks_, SizeIs(1));
  RunTasks();
  EXPECT_EQ(polls_, 1);
  EXPECT_THAT(results_.reports(), IsEmpty());
  EXPECT_TRUE(wait.pending());
  engine.RunDue();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(held(), 0);
}

TEST_F(EngineExecutorTest, HooksRunOnTheEngine) {
  struct CountsHooks : WaitObserver {
    void BeforePoll(const WaitIdentity& /*wait*/,
                    int64_t /*attempt*/) override {
      ++hooks;
    }
    void AfterPoll(const PollEvent& /*poll*/) override { ++hooks; }
    void BeforeSleep(const SleepEvent& /*sleep*/) override { ++hooks; }
    void OnDone(const WaitIdentity& /*wait*/,
                const WaitReport& /*report*/) override {
      ++hooks;
    }
    int hooks = 0;
  } observer;
  WaitEngine engine(Queued());
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(observer);
  const WaitHandle wait =
      engine.Start(Waiter([this] { return CountPoll(polls_ == 1); }, options),
                   results_.Take());
  for (const int before : {1, 4}) {
    engine.RunDue();
    EXPECT_EQ(observer.hooks, before);
    RunTasks();
    EXPECT_EQ(observer.hooks, before);
    engine.RunDue();
    clock_.AdvanceTime(Seconds(1));
  }

  EXPECT_EQ(observer.hooks, 6);
}

TEST_F(EngineExecutorTest, DelayRunsFromTheEndOfThePoll) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(Waiter(
                                           [this] {
                                             clock_.AdvanceTime(Seconds(5));
                                             return CountPoll(false);
                                           },
                                           EverySecond()),
                                       TakeHolding());
  engine.RunDue();
  RunTasks();
  const MonotonicTime end = clock_.MonotonicNow();
  clock_.AdvanceTime(absl::Milliseconds(300));  // Simulates a busy engine.
  EXPECT_EQ(engine.RunDue(), end + std::chrono::seconds(1));
}

TEST_F(EngineExecutorTest, AsynchronousFunctionsNeedNoExecutor) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(
      AsyncWaiter([](PollCompletion<> done) { done(true); }, EverySecond()),
      results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_THAT(tasks_, IsEmpty());
}

TEST_F(EngineExecutorTest, CancelOfAQueuedPollPreventsIt) {
  for (const bool engine_is_first : {false, true}) {
    Results results;
    WaitEngine engine(Queued());
    WaitHandle wait = engine.Start(NeverReady(), results.Take());
    engine.RunDue();
    wait.Cancel();
    if (engine_is_first) engine.RunDue();
    RunTasks();
    engine.RunDue();

    EXPECT_EQ(polls_, 0);
    EXPECT_THAT(results.reasons(), ElementsAre(StopReason::kCancelled));
    EXPECT_EQ(results.reports()[0].attempts, 0);
    EXPECT_EQ(held(), 0);
  }
}

TEST_F(EngineExecutorTest, CancelDuringAPollLetsItsAnswerWin) {
  for (const bool answer : {true, false}) {
    Results results;
    WaitEngine engine(Queued());
    WaitHandle wait;
    wait = engine.Start(Waiter(
                            [&](const PollContext& context) {
                              wait.Cancel();
                              EXPECT_TRUE(context.stop_token.stop_requested());
                              engine.RunDue();
                              EXPECT_THAT(results.reports(), IsEmpty());
                              return answer;
                            },
                            EverySecond()),
                        results.Take());
    engine.RunDue();
    RunTasks();
    engine.RunDue();
    EXPECT_THAT(
        results.reasons(),
        ElementsAre(answer ? StopReason::kSuccess : StopReason::kCancelled));
  }
}

TEST_F(EngineExecutorTest, DestroyingTheHandleOfAQueuedPollFreesItsCallables) {
  WaitEngine engine(Queued());
  std::optional<WaitHandle> wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();
  ASSERT_THAT(tasks_, SizeIs(1));
  wait.reset();
  EXPECT_EQ(held(), 0);
  // The engine may reuse the record for another wait.
  const WaitHandle other =
      engine.Start(Waiter([this] { return CountPoll(true); }, EverySecond()),
                   results_.Take());
  RunTasks();
  EXPECT_EQ(polls_, 0);
  engine.RunDue();
  RunTasks();
  engine.RunDue();

  EXPECT_EQ(polls_, 1);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EngineExecutorTest, EngineMayEndBeforeAQueuedPoll) {
  {
    WaitEngine engine(Queued());
    engine.Start(NeverReady(), TakeHolding()).Detach();
    engine.RunDue();
    ASSERT_THAT(tasks_, SizeIs(1));
  }
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kShutDown));
  EXPECT_EQ(held(), 0);
  RunTasks();
  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reports(), SizeIs(1));
}

TEST_F(EngineExecutorTest, ExceptionOfAStatusFunctionIsDeliveredOnce) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(Waiter(
                                           [this, token = token_]() -> bool {
                                             ++polls_;
                                             throw std::out_of_range("lost");
                                           },
                                           EverySecond()),
                                       TakeHolding());
  engine.RunDue();
  RunTasks();
  engine.RunDue();

  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kFailed));
  EXPECT_EQ(polls_, 1);
  EXPECT_EQ(held(), 0);
  ASSERT_TRUE(results_.reports()[0].exception);
  EXPECT_THROW(std::rethrow_exception(results_.reports()[0].exception),
               std::out_of_range);
}

TEST_F(EngineExecutorTest, ExceptionOfTheExecutorFailsTheWaitUnderItsName) {
  WaitEngine engine(
      WithExecutor([](const Task&) { throw std::runtime_error("full"); }));
  const WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  const WaitHandle other = engine.Start(
      AsyncWaiter([](PollCompletion<> done) { done(true); }, EverySecond()),
      results_.Take());

  engine.Run();

  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
  ASSERT_THAT(results_.reasons(),
              ElementsAre(StopReason::kFailed, StopReason::kSuccess));
  EXPECT_EQ(
      results_.reports()[0].status,
      absl::UnknownError("WaitEngineOptions::executor threw an exception: full "
                         "(wait, after 0 attempts in 0)"));
  EXPECT_THROW(std::rethrow_exception(results_.reports()[0].exception),
               std::runtime_error);
}

TEST_F(EngineExecutorTest, ExecutorMayKeepThePollAndThrow) {
  for (const bool anything : {false, true}) {
    Results results;
    WaitEngine engine(WithExecutor([&](Task task) {
      tasks_.push_back(std::move(task));
      if (anything) throw 42;  // NOLINT: not an exception object
      throw std::runtime_error("full");
    }));
    const WaitHandle wait = engine.Start(NeverReady(), results.Take());
    engine.Run();
    EXPECT_THAT(results.reasons(), ElementsAre(StopReason::kFailed));
    EXPECT_EQ(results.reports()[0].status.code(), absl::StatusCode::kUnknown);
    EXPECT_TRUE(results.reports()[0].exception);
    RunTasks();
    engine.Run();
    EXPECT_THAT(results.reports(), SizeIs(1));
    EXPECT_EQ(polls_, 0);
  }
}

TEST_F(EngineExecutorTest, AnswerCountsIfTheExecutorRunsThePollAndThrows) {
  WaitEngine engine(WithExecutor([](Task task) {
    task();
    throw std::runtime_error("too late");
  }));
  const WaitHandle wait = engine.Start(Ready(), results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EngineExecutorTest, TaskThatRunsAgainDoesNothing) {
  {
    WaitEngine engine(WithExecutor([&](Task task) {
      task();
      task();
      tasks_.push_back(std::move(task));
      tasks_.front()();
    }));
    const WaitHandle wait = engine.Start(
        Waiter([this] { return CountPoll(polls_ == 4); }, EverySecond()),
        results_.Take());
    engine.Run();
    for (Task& task : tasks_) task();
  }
  for (Task& task : tasks_) task();

  EXPECT_EQ(polls_, 5);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EngineExecutorTest, PollThatTheExecutorDropsEndsTheWait) {
  for (const bool at_once : {true, false}) {
    SCOPED_TRACE(at_once);
    std::vector<Task> tasks;
    Results results;
    WaitEngine engine(WithExecutor([&](Task task) {
      if (!at_once) tasks.push_back(std::move(task));
    }));
    const WaitHandle wait = engine.Start(NeverReady(), results.Take());
    engine.RunDue();
    tasks.clear();

    engine.Run();

    ASSERT_THAT(results.reports(), SizeIs(1));
    EXPECT_EQ(results.reports()[0].reason, StopReason::kFailed);
    EXPECT_EQ(results.reports()[0].status.code(),
              absl::StatusCode::kUnavailable);
  }
}

// A bounded queue makes room by dropping its oldest task when it gets the next.
TEST_F(EngineExecutorTest, PollThatIsDroppedForAnotherEndsItsOwnWait) {
  std::optional<Task> queued;
  WaitEngine engine(
      WithExecutor([&](Task task) { queued.emplace(std::move(task)); }));
  Results dropped;
  const WaitHandle first = engine.Start(NeverReady(), dropped.Take());
  const WaitHandle second = engine.Start(Ready(), results_.Take());
  engine.RunDue();
  ASSERT_TRUE(queued.has_value());

  (*std::exchange(queued, std::nullopt))();
  engine.Run();

  EXPECT_THAT(dropped.reasons(), ElementsAre(StopReason::kFailed));
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

// The same when the wait of the dropped poll has ended, and the next wait has
// taken its place in the engine.
TEST_F(EngineExecutorTest, DroppedPollOfAnEarlierWaitDoesNotEndTheNextOne) {
  std::optional<Task> queued;
  WaitEngine engine(
      WithExecutor([&](Task task) { queued.emplace(std::move(task)); }));
  const WaitHandle first = engine.Start(
      Waiter([] { return true; }, EverySecond(Seconds(5))), results_.Take());
  engine.Run();
  ASSERT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));

  Results next;
  const WaitHandle second = engine.Start(Ready(), next.Take());
  engine.RunDue();
  (*std::exchange(queued, std::nullopt))();
  engine.Run();

  EXPECT_THAT(next.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(EngineExecutorTest, PollThatNeverBeginsEndsAtTheDeadline) {
  WaitEngine engine(Queued());
  const WaitHandle wait = engine.Start(
      Waiter([this] { return CountPoll(true); }, EverySecond(absl::Minutes(5))),
      results_.Take());

  engine.Run();
  ASSERT_EQ(tasks_.size(), 1U);
  RunTasks();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kDeadline));
  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(5));
  EXPECT_EQ(polls_, 0);
}

// The poll at the deadline is handed over then. It may begin as long as its
// answer would count.
TEST_F(EngineExecutorTest, PollAtTheDeadlineIsGivenTimeToBegin) {
  for (const bool begins : {false, true}) {
    SimulatedClock clock(SimulatedClock::Mode::kManual);
    Results results;
    WaitEngineOptions options = Queued();
    options.clock = &clock;
    WaitEngine engine(options);
    const WaitHandle wait =
        engine.Start(Waiter([&] { return clock.Elapsed() > Seconds(5); },
                            {.timeout = Seconds(5),
                             .poll_timeout = Seconds(3),
                             .backoff = Every(Seconds(10)),
                             .clock = &clock}),
                     results.Take());
    engine.RunDue();
    RunTasks();
    engine.RunDue();
    clock.AdvanceTime(Seconds(5));
    engine.RunDue();
    ASSERT_THAT(tasks_, SizeIs(1));
    clock.AdvanceTime(Seconds(2));
    engine.RunDue();
    EXPECT_THAT(results.reports(), IsEmpty());
    if (begins) RunTasks();
    engine.RunDue();
    clock.AdvanceTime(Seconds(1));
    engine.RunDue();

    EXPECT_THAT(results.reasons(), ElementsAre(begins ? StopReason::kSuccess
                                                      : StopReason::kDeadline));
    EXPECT_EQ(results.reports()[0].elapsed, Seconds(begins ? 7 : 8));
    tasks_.clear();
  }
}

TEST_F(EngineExecutorTest, BegunPollIsAwaitedBeyondTheDeadline) {
  for (const bool is_strict : {false, true}) {
    Results results;
    WaitEngine engine(Queued());
    WaitOptions options = EverySecond(Seconds(5));
    options.polls.strict_deadline = is_strict;
    const WaitHandle wait =
        engine.Start(Waiter(
                         [&] {
                           clock_.AdvanceTime(Seconds(60));
                           engine.RunDue();
                           EXPECT_THAT(results.reports(), IsEmpty());
                           return true;
                         },
                         options),
                     results.Take());
    engine.RunDue();
    RunTasks();
    engine.RunDue();

    EXPECT_THAT(
        results.reasons(),
        ElementsAre(is_strict ? StopReason::kDeadline : StopReason::kSuccess));
    EXPECT_TRUE(results.reports()[0].late);
  }
}

// Each of five functions begins 30 ms after its call of the executor.
TEST_F(EngineExecutorTest, TimeOfAWaitBeginsWithItsCallOfTheExecutor) {
  WaitEngine engine(WithExecutor([&](Task poll) {
    clock_.AdvanceTime(absl::Milliseconds(30));
    poll();
  }));
  for (int i = 0; i < 5; ++i) {
    engine.Start(Ready(), results_.Take()).Detach();
  }
  engine.Run();

  ASSERT_THAT(results_.reports(), SizeIs(5));
  for (const WaitReport& report : results_.reports()) {
    EXPECT_EQ(report.elapsed, absl::Milliseconds(30));
  }
}

TEST_F(EngineExecutorTest, PollsOfOneWaitNeverOverlap) {
  constexpr size_t kWaits = 50;
  ThreadPool pool(4);
  WaitEngine engine(
      {.threads = 2, .tick = Microseconds(1), .executor = pool.executor()});
  const auto policy = WaitPolicy::Make(
      {.timeout = Hours(1), .backoff = Every(absl::ZeroDuration())});
  struct Wait {
    std::atomic<int> polling = 0;
    int polls = 0;
  };
  std::vector<Wait> waits(kWaits);
  std::latch done(kWaits);
  for (Wait& wait : waits) {
    engine
        .Start(Waiter(
                   [&wait] {
                     EXPECT_EQ(++wait.polling, 1);
                     const bool ends = ++wait.polls == 100;
                     --wait.polling;
                     return ends;
                   },
                   policy),
               [&](const WaitResult<>& result) {
                 EXPECT_TRUE(result.ok()) << result.status();
                 EXPECT_EQ(wait.polling, 0);
                 done.count_down();
               })
        .Detach();
  }
  done.wait();
  for (const Wait& wait : waits) EXPECT_EQ(wait.polls, 100);
}

// A pool whose queue is full runs the oldest task on the thread that hands over
// another one. That task destroys the handle of the wait whose poll has just
// begun on a thread of the pool.
TEST_F(EngineExecutorTest, DestructorInACallOfTheExecutorAwaitsThePoll) {
  std::latch began(1);
  std::atomic<bool> ended = false;
  std::optional<WaitHandle> handle;
  std::optional<Task> queued;
  JoiningThread pool;
  WaitEngine engine(WithExecutor([&](Task task) {
    if (!queued.has_value()) {
      queued = std::move(task);
      return;
    }
    pool = JoiningThread(std::move(task));
    began.wait();
    (*queued)();
  }));
  const WaitHandle destroying = engine.Start(Waiter(
                                                 [&] {
                                                   handle.reset();
                                                   EXPECT_TRUE(ended);
                                                   return true;
                                                 },
                                                 EverySecond()),
                                             results_.Take());
  handle = engine.Start(Waiter(
                            [&] {
                              began.count_down();
                              for (int i = 0; i < 1000; ++i) {
                                std::this_thread::yield();
                              }
                              ended = true;
                              return true;
                            },
                            EverySecond()),
                        results_.Take());
  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

// The callback is on the thread of the engine, and the poll on one of the pool.
TEST_F(EngineExecutorTest, CallbackMayDestroyTheHandleOfARunningPoll) {
  ThreadPool pool(2);
  WaitEngine engine(
      {.tick = absl::ZeroDuration(), .executor = pool.executor()});
  const auto policy = WaitPolicy::Make(
      {.timeout = Hours(1), .backoff = Every(Microseconds(30))});
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> gone = false;
    std::latch destroyed(1);
    std::optional<WaitHandle> polled =
        engine.Start(Waiter(
                         [&] {
                           for (std::atomic<int> i = 0; i < 300;) ++i;
                           EXPECT_FALSE(gone);
                           return false;
                         },
                         policy),
                     [](const WaitResult<>&) {});
    engine
        .Start(Waiter([left = round % 3]() mutable { return left-- == 0; },
                      policy),
               [&](const WaitResult<>&) {
                 polled.reset();
                 gone = true;
                 destroyed.count_down();
               })
        .Detach();
    destroyed.wait();
  }
}

TEST_F(EngineExecutorTest, WaitsThatAPollStartsStayOnTheThreadOfItsWait) {
  ThreadPool pool(1);
  WaitEngine engine({.threads = 4, .executor = pool.executor()});
  std::latch ended(5);
  std::mutex mutex;
  std::vector<std::thread::id> threads;
  const auto note = [&](const WaitResult<>&) {
    {
      const std::lock_guard lock(mutex);
      threads.push_back(std::this_thread::get_id());
    }
    ended.count_down();
  };
  engine
      .Start(Waiter(
                 [&] {
                   for (int i = 0; i < 4; ++i) {
                     engine.Start(Waiter([] { return true; }, Seconds(5)), note)
                         .Detach();
                   }
                   return true;
                 },
                 Seconds(5)),
             note)
      .Detach();
  ended.wait();

  EXPECT_THAT(threads, testing::Each(threads.front()));
}

using EngineExecutorDeathTest = EngineExecutorTest;

// The thread is inside a function of the outer engine, although the inner one
// runs on it.
TEST_F(EngineExecutorDeathTest, RunDueInANestedEngineTerminates) {
  bool nests = false;  // In the process that dies.
  WaitEngine outer(Simulated());
  const auto run_nested = [&] {
    WaitEngine inner(Simulated());
    inner.Start(Ready(), [&](const WaitResult<>&) { outer.RunDue(); }).Detach();
    inner.Run();
  };
  outer
      .Start(Ready(),
             [&](const WaitResult<>&) {
               if (nests) run_nested();
             })
      .Detach();

  EXPECT_DEATH(
      {
        nests = true;
        outer.Run();
      },
      "called by one of its own waits");
}

}  // namespace
}  // namespace waiter::engine_executor_test
