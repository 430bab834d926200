// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/hook_actions.h"
#include "tests/support/status_matchers.h"
#include "tests/support/thread_pool.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::wait_handle_test {
namespace {

using ::absl::Hours;
using ::absl::Milliseconds;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using WaitHandleTest = EngineFixture;

// Destruction, moves and detaching.

TEST_F(WaitHandleTest, DestroyingTheHandleInASleepCancelsWithoutACallback) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait = engine.Start(NeverReady(), TakeHolding());
  clock_.CallAt(Milliseconds(5500), [&] {
    EXPECT_EQ(held(), 2);
    wait.reset();
    EXPECT_EQ(held(), 0);
  });

  engine.Run();

  EXPECT_THAT(results_.reports(), IsEmpty());
  EXPECT_EQ(polls_, 6);
  EXPECT_EQ(clock_.Elapsed(), Milliseconds(5500));
}

TEST_F(WaitHandleTest, DestroyingTheHandleBeforeTheFirstPollPreventsEveryPoll) {
  WaitEngine engine(Simulated());
  { const WaitHandle wait = engine.Start(NeverReady(), TakeHolding()); }

  EXPECT_EQ(held(), 0);
  engine.Run();
  EXPECT_EQ(polls_, 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(WaitHandleTest, DestroyingTheHandleInItsPollEndsTheWaitAfterThePoll) {
  for (const bool on_executor : {false, true}) {
    for (const bool answer : {false, true}) {
      SCOPED_TRACE(absl::StrCat("executor ", on_executor, " answer ", answer));
      polls_ = 0;
      WaitEngine engine(on_executor ? Queued() : Simulated());
      std::optional<WaitHandle> wait;
      wait = engine.Start(Waiter(
                              [&, answer, token = token_] {
                                wait.reset();
                                EXPECT_EQ(held(), 2);
                                return CountPoll(answer);
                              },
                              EverySecond()),
                          TakeHolding());

      engine.RunDue();
      RunTasks();
      engine.Run();

      EXPECT_EQ(polls_, 1);
      EXPECT_THAT(tasks_, IsEmpty());
      EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
      EXPECT_EQ(held(), 0);
      EXPECT_THAT(results_.reports(), IsEmpty());
    }
  }
}

TEST_F(WaitHandleTest, DestroyingTheHandleInItsCallbackIsHarmless) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait;
  wait = engine.Start(Ready(), [&, token = token_](const WaitResult<>& result) {
    wait.reset();
    EXPECT_EQ(held(), 1);
    results_.Take()(result);
  });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(held(), 0);
}

TEST_F(WaitHandleTest, OtherHandlesMayBeDestroyedInAPollOrACallback) {
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> others;
  const auto start_others = [&] {
    for (int i = 0; i < 3; ++i) {
      others.push_back(engine.Start(NeverReady(), TakeHolding()));
    }
  };
  start_others();
  const auto destroy_others = [&] {
    EXPECT_EQ(held(), 6);
    others.clear();
    EXPECT_EQ(held(), 0);
  };
  clock_.CallAt(Seconds(10), [] {});
  int polls = 0;
  WaitOptions options = EverySecond();
  options.polls.first_delay = Milliseconds(1500);
  options.backoff = Every(Milliseconds(500));
  const WaitHandle wait =
      engine.Start(Waiter(
                       [&] {
                         if (++polls > 1) return true;
                         destroy_others();
                         start_others();
                         return false;
                       },
                       options),
                   [&](const WaitResult<>&) { destroy_others(); });

  engine.Run();

  EXPECT_EQ(polls, 2);
  EXPECT_EQ(polls_, 9);  // At 0 s, 1 s and, after the second start, 1.5 s.
  EXPECT_EQ(clock_.Elapsed(), Seconds(2));
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(WaitHandleTest, DestroyingTheHandleAwaitsAPollOnAnotherThread) {
  for (const bool on_executor : {false, true}) {
    SCOPED_TRACE(on_executor);
    ThreadPool pool(1);
    std::atomic<bool> polling = false;
    std::atomic<bool> destroying = false;
    std::atomic<bool> polled = false;
    WaitEngineOptions options;
    if (on_executor) options.executor = pool.executor();
    WaitEngine engine(options);
    std::optional<WaitHandle> wait =
        engine.Start(Waiter(
                         [&, token = token_] {
                           polling = true;
                           while (!destroying) std::this_thread::yield();
                           for (int i = 0; i < 100; ++i) {
                             std::this_thread::yield();
                           }
                           polled = true;
                           return true;
                         },
                         {.timeout = Hours(1)}),
                     [](const WaitResult<>&) { ADD_FAILURE(); });
    while (!polling) std::this_thread::yield();
    destroying = true;
    wait.reset();

    EXPECT_TRUE(polled);
    EXPECT_EQ(held(), 0);
  }
}

TEST_F(WaitHandleTest, DestroyingTheHandleAwaitsACallbackOnAnotherThread) {
  std::atomic<bool> calling_back = false;
  std::atomic<bool> destroying = false;
  std::atomic<bool> called_back = false;
  WaitEngine engine;
  std::optional<WaitHandle> wait =
      engine.Start(Waiter([] { return true; }, {.timeout = Hours(1)}),
                   [&, token = token_](const WaitResult<>&) {
                     calling_back = true;
                     while (!destroying) std::this_thread::yield();
                     for (int i = 0; i < 100; ++i) std::this_thread::yield();
                     called_back = true;
                   });
  while (!calling_back) std::this_thread::yield();
  EXPECT_TRUE(wait->pending());
  destroying = true;
  wait.reset();

  EXPECT_TRUE(called_back);
  EXPECT_EQ(held(), 0);
}

TEST_F(WaitHandleTest, MovedHandlesOwnTheirWait) {
  WaitEngine engine(Simulated());
  WaitHandle first = engine.Start(NeverReady(), TakeHolding());
  WaitHandle second = engine.Start(NeverReady(), TakeHolding());
  EXPECT_EQ(held(), 4);

  second = std::move(first);  // Ends the wait that `second` owned.
  EXPECT_EQ(held(), 2);
  EXPECT_FALSE(first.pending());  // NOLINT: moved from, yet well-defined
  first.Cancel();
  first.Detach();
  EXPECT_TRUE(second.pending());
  WaitHandle third(std::move(second));
  EXPECT_FALSE(second.pending());  // NOLINT: moved from, yet well-defined
  EXPECT_TRUE(third.pending());
  third = WaitHandle();

  EXPECT_EQ(held(), 0);
  engine.Run();
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(WaitHandleTest, EmptyHandleDoesNothing) {
  WaitHandle none;
  EXPECT_FALSE(none.pending());
  none.Cancel();
  none.Detach();
  WaitHandle other = std::move(none);
  other.Cancel();
}

TEST_F(WaitHandleTest, DetachedWaitRunsToItsCallback) {
  WaitEngine engine(Simulated());
  {
    WaitHandle wait = engine.Start(
        Waiter([this] { return CountPoll(polls_ == 3); }, EverySecond()),
        TakeHolding());
    wait.Detach();
    EXPECT_FALSE(wait.pending());
    wait.Cancel();
  }

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(polls_, 4);
  EXPECT_EQ(held(), 0);
}

TEST_F(WaitHandleTest, HandleMayBeDetachedInACallbackOrAPoll) {
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> waits(2);
  waits[0] = engine.Start(Waiter(
                              [&] {
                                waits[0].Detach();
                                return CountPoll(polls_ == 3);
                              },
                              EverySecond()),
                          results_.Take());
  waits[1] = engine.Start(Ready(), [&](WaitResult<> result) {
    waits[1].Detach();
    results_.Take()(std::move(result));
  });

  engine.Run();

  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(2), Each(Eq(StopReason::kSuccess))));
}

TEST_F(WaitHandleTest, WaitIsPendingUntilItsCallbackHasReturned) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  wait = engine.Start(Waiter(
                          [&] {
                            EXPECT_TRUE(wait.pending());
                            return true;
                          },
                          EverySecond()),
                      [&](WaitResult<> result) {
                        EXPECT_TRUE(wait.pending());
                        results_.Take()(std::move(result));
                      });

  EXPECT_TRUE(wait.pending());
  engine.Run();
  EXPECT_FALSE(wait.pending());
  EXPECT_THAT(results_.reports(), SizeIs(1));
}

// A reused record is not mistaken for its previous wait.
TEST_F(WaitHandleTest, OldHandlesDoNotTouchNewWaits) {
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> old;
  old.reserve(100);
  for (int i = 0; i < 100; ++i) {
    old.push_back(engine.Start(Ready(), results_.Take()));
  }
  engine.Run();
  std::vector<WaitHandle> young;
  young.reserve(100);
  for (int i = 0; i < 100; ++i) {
    young.push_back(engine.Start(
        Waiter([polls = 0]() mutable { return ++polls == 2; }, EverySecond()),
        results_.Take()));
  }
  for (WaitHandle& wait : old) {
    EXPECT_FALSE(wait.pending());
    wait.Cancel();
  }
  old.clear();

  engine.Run();

  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(200), Each(Eq(StopReason::kSuccess))));
}

// Cancellation.

TEST_F(WaitHandleTest, CancelBeforeTheFirstPollPreventsEveryPoll) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  wait.Cancel();
  EXPECT_THAT(results_.reports(), IsEmpty()) << "called back inside Cancel";
  EXPECT_TRUE(wait.pending());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_THAT(results_.reports()[0].status, StatusIs(StatusCode::kCancelled));
  EXPECT_EQ(results_.reports()[0].attempts, 0);
  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
}

TEST_F(WaitHandleTest, CancelInASleepEndsItAtOnce) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  clock_.CallAt(Milliseconds(5500), [&] {
    wait.Cancel();
    wait.Cancel();
  });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(results_.reports()[0].elapsed, Milliseconds(5500));
  EXPECT_EQ(results_.reports()[0].slept, Milliseconds(5500));
  EXPECT_EQ(polls_, 6);
  wait.Cancel();
  wait.Cancel();
  engine.Run();
  EXPECT_THAT(results_.reports(), SizeIs(1));
}

TEST_F(WaitHandleTest, CancelEndsAnInfiniteWait) {
  WaitEngine engine(Simulated());
  WaitOptions options = EverySecond(absl::InfiniteDuration());
  options.polls.first_delay = Hours(24 * 365 * 200);
  WaitHandle wait =
      engine.Start(Waiter([] { return true; }, options), results_.Take());
  clock_.CallAt(Seconds(5), [&] { wait.Cancel(); });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(clock_.Elapsed(), Seconds(5));
}

TEST_F(WaitHandleTest, CancelThenDestroyDoesNotCallBack) {
  WaitEngine engine(Simulated());
  {
    WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
    wait.Cancel();
  }

  EXPECT_EQ(held(), 0);
  engine.Run();
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(WaitHandleTest, CancelThenDetachCallsBack) {
  WaitEngine engine(Simulated());
  {
    WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
    wait.Cancel();
    wait.Detach();
  }

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(WaitHandleTest, FinalAnswerWinsOverACancelDuringItsPoll) {
  const auto reason = [&](PollStatus found) {
    WaitEngine engine(Simulated());
    Results results;
    WaitHandle wait;
    wait = engine.Start(Waiter(
                            [&] {
                              ++polls_;
                              wait.Cancel();
                              wait.Cancel();
                              return found;
                            },
                            EverySecond()),
                        results.Take());
    polls_ = 0;
    engine.Run();
    EXPECT_EQ(polls_, 1);
    EXPECT_THAT(results.reports(), SizeIs(1));
    return results.reasons().at(0);
  };

  EXPECT_EQ(reason(PollStatus::kSuccess), StopReason::kSuccess);
  EXPECT_EQ(reason(PollStatus::kFailed), StopReason::kFailed);
  EXPECT_EQ(reason(PollStatus::kNotReady), StopReason::kCancelled);
  EXPECT_EQ(reason(PollStatus::kThrottled), StopReason::kCancelled);
  EXPECT_EQ(reason(PollStatus::kServerError), StopReason::kCancelled);
}

TEST_F(WaitHandleTest, CancelReachesTheTokenOfThePoll) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  wait = engine.Start(Waiter(
                          [&](const PollContext& context) {
                            EXPECT_EQ(context.attempt, 1);
                            EXPECT_EQ(context.remaining, Hours(1));
                            EXPECT_FALSE(context.stop_token.stop_requested());
                            wait.Cancel();
                            EXPECT_TRUE(context.stop_token.stop_requested());
                            return false;
                          },
                          EverySecond()),
                      results_.Take());

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

// Otherwise the destructor would block until the poll has its answer.
TEST_F(WaitHandleTest, DestroyingTheHandleReachesTheTokenOfThePoll) {
  WaitEngine engine;
  std::atomic<bool> polling = false;
  std::optional<WaitHandle> wait =
      engine.Start(Waiter(
                       [&](const PollContext& context) {
                         polling = true;
                         while (!context.stop_token.stop_requested()) {
                           std::this_thread::yield();
                         }
                         return false;
                       },
                       {.timeout = Hours(1)}),
                   [](const WaitResult<>&) { ADD_FAILURE(); });
  while (!polling) std::this_thread::yield();

  wait.reset();
}

TEST_F(WaitHandleTest, CancelInTheCallbackIsTooLate) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  wait = engine.Start(Ready(), [&](WaitResult<> result) {
    wait.Cancel();
    results_.Take()(std::move(result));
  });

  engine.Run();
  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(WaitHandleTest, CancelOnAnotherThreadEndsARealSleep) {
  WaitEngine engine;
  std::atomic<int> polls = 0;
  std::promise<WaitReport> ended;
  WaitHandle wait =
      engine.Start(Waiter(
                       [&] {
                         ++polls;
                         return false;
                       },
                       {.timeout = Hours(9), .backoff = Every(Hours(1))}),
                   [&](WaitResult<> result) {
                     ended.set_value(std::move(result).report());
                   });
  while (polls == 0) std::this_thread::yield();
  wait.Cancel();

  const WaitReport report = ended.get_future().get();
  EXPECT_EQ(report.reason, StopReason::kCancelled);
  EXPECT_EQ(report.attempts, 1);
}

TEST_F(WaitHandleTest, CancelOnAnotherThreadDoesNotAwaitThePoll) {
  for (const bool on_executor : {false, true}) {
    for (const bool answer : {false, true}) {
      ThreadPool pool(1);
      WaitEngineOptions options;
      if (on_executor) options.executor = pool.executor();
      std::latch polling(1);
      std::latch cancelled(1);
      std::promise<StopReason> ended;
      WaitEngine engine(options);
      WaitHandle wait = engine.Start(Waiter(
                                         [&] {
                                           polling.count_down();
                                           cancelled.wait();
                                           return answer;
                                         },
                                         {.timeout = Hours(1)}),
                                     [&](const WaitResult<>& result) {
                                       ended.set_value(result.reason());
                                     });
      polling.wait();
      wait.Cancel();
      cancelled.count_down();

      EXPECT_EQ(ended.get_future().get(),
                answer ? StopReason::kSuccess : StopReason::kCancelled);
    }
  }
}

// Functions that run on another thread than the one that started the wait.

enum class Kind { kPoll, kAsk, kAskAndAnswer, kCallback };

// Starts a wait, one of whose functions destroys its handle.
void DestroyInside(Kind kind, WaitEngine& engine) {
  SCOPED_TRACE(static_cast<int>(kind));
  const CountedCopies token;
  const auto observer =
      std::make_shared<ActingObserver>(Hook::kOnDone, nullptr);
  std::latch assigned(1);
  std::optional<WaitHandle> wait;
  std::atomic<int> polls = 0;
  std::atomic<int> calls = 0;
  const auto destroy = [&] {
    assigned.wait();
    const int before = token.count();
    wait.reset();
    EXPECT_EQ(token.count(), before) << "freed while it ran";
  };
  auto call_back = [&, destroy, token = token](const WaitResult<>&) {
    ++calls;
    if (kind == Kind::kCallback) destroy();
  };
  const WaitOptions options = {.timeout = Hours(1),
                               .hooks = {.observer = observer}};
  if (kind == Kind::kAsk || kind == Kind::kAskAndAnswer) {
    wait = engine.Start(AsyncWaiter(
                            [&, destroy, token](const PollCompletion<>& done) {
                              ++polls;
                              if (kind == Kind::kAskAndAnswer) done(true);
                              destroy();
                              done(true);
                            },
                            options),
                        std::move(call_back));
  } else {
    wait = engine.Start(Waiter(
                            [&, destroy, token] {
                              ++polls;
                              if (kind == Kind::kPoll) destroy();
                              return true;
                            },
                            options),
                        std::move(call_back));
  }
  assigned.count_down();
  observer->AwaitDone();
  while (token.count() > 1) std::this_thread::yield();
  EXPECT_EQ(observer->ends(), 1);
  EXPECT_EQ(polls, 1);
  EXPECT_EQ(calls, kind == Kind::kCallback ? 1 : 0);
}

TEST_F(WaitHandleTest, FunctionsOnThreadsMayDestroyTheHandle) {
  ThreadPool pool(2);
  WaitEngine plain;
  WaitEngine on_pool({.executor = pool.executor()});
  WaitEngine at_once(
      {.executor = [](absl::AnyInvocable<void()> poll) { poll(); }});
  for (const Kind kind :
       {Kind::kPoll, Kind::kAsk, Kind::kAskAndAnswer, Kind::kCallback}) {
    DestroyInside(kind, plain);
    DestroyInside(kind, on_pool);
    DestroyInside(kind, at_once);
  }
}

// The callbacks of two waits that end at about the same time.
TEST_F(WaitHandleTest, CallbacksMayDestroyEachOthersHandles) {
  for (const int threads : {0, 1}) {
    WaitEngine engine({.threads = threads, .tick = absl::ZeroDuration()});
    for (int round = 0; round < 100; ++round) {
      std::array<std::optional<WaitHandle>, 2> waits;
      std::atomic<bool> ready = false;
      std::atomic<int> calls = 0;
      for (size_t i = 0; i < 2; ++i) {
        waits[i] = engine.Start(
            Waiter(
                [&ready, token = token_] { return ready.load(); },
                {.timeout = Hours(1), .backoff = Every(absl::ZeroDuration())}),
            [&, i, token = token_](const WaitResult<>&) {
              waits[1 - i].reset();
              ++calls;
            });
      }
      if (threads == 0) engine.RunDue();
      ready = true;
      if (threads == 0) engine.Run();
      while (held() > 0) std::this_thread::yield();
      EXPECT_EQ(calls, 1);
    }
  }
}

// Captures of callables.

TEST_F(WaitHandleTest, CapturesAreFreedAtTheEndOfTheirWait) {
  WaitEngine engine(Simulated());
  const WaitHandle lasts = engine.Start(
      Waiter([polls = 0]() mutable { return ++polls == 10; }, EverySecond()),
      results_.Take());
  const WaitHandle ends = engine.Start(
      Waiter([token = token_] { return true; }, EverySecond()), TakeHolding());
  EXPECT_EQ(held(), 2);
  clock_.CallAt(Milliseconds(500), [&] {
    EXPECT_THAT(results_.reports(), SizeIs(1));
    EXPECT_EQ(held(), 0);
  });

  engine.Run();

  EXPECT_THAT(results_.reports(), SizeIs(2));
}

// Counts its instances. Its string makes a double destruction a double free.
template <size_t size, size_t alignment>
struct alignas(alignment) Counted {
  explicit Counted(int& alive_in) : alive(&alive_in) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive), text(other.text) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(this) % alignment, 0);
    ++*alive;
  }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  int* alive;
  std::string text = "a text that is too long to be stored in place";
  std::array<char, size> filler = {};
};

template <typename Capture>
void ExpectFreedOnce(SimulatedClock& clock, const WaitEngineOptions& options) {
  int alive = 0;
  int called_back = 0;
  const auto start = [&](WaitEngine& engine, bool answer) {
    const Capture capture(alive);
    return engine.Start(
        Waiter([capture, answer] { return answer; },
               {.timeout = Hours(1), .clock = &clock}),
        [capture, &called_back](const WaitResult<>&) { ++called_back; });
  };
  {
    WaitEngine engine(options);
    std::vector<WaitHandle> waits;
    waits.push_back(start(engine, true));   // Succeeds.
    waits.push_back(start(engine, false));  // Is cancelled.
    waits.push_back(start(engine, false));  // Is destroyed.
    waits.push_back(start(engine, false));  // Is shut down.
    EXPECT_EQ(alive, 8);
    engine.RunDue();
    EXPECT_EQ(alive, 6);
    waits[1].Cancel();
    engine.RunDue();
    EXPECT_EQ(alive, 4);
    waits[2] = WaitHandle();
    EXPECT_EQ(alive, 2);
    waits[3].Detach();
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(called_back, 3);
}

TEST_F(WaitHandleTest, CapturesOfAnySizeAreFreedOnce) {
  ExpectFreedOnce<Counted<1, 8>>(clock_, Simulated());
  ExpectFreedOnce<Counted<1000, 16>>(clock_, Simulated());
  ExpectFreedOnce<Counted<100, 32>>(clock_, Simulated());
}

TEST_F(WaitHandleTest, CapturedHandleEndsWithItsCallable) {
  WaitEngine engine(Simulated());
  auto inner =
      std::make_unique<WaitHandle>(engine.Start(NeverReady(), TakeHolding()));
  const WaitHandle outer = engine.Start(
      Waiter([polls = 0]() mutable { return ++polls == 3; }, EverySecond()),
      [owned = std::move(inner)](const WaitResult<>&) {
        EXPECT_TRUE(owned->pending());
      });

  engine.Run();

  EXPECT_EQ(clock_.Elapsed(), Seconds(2));
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(results_.reports(), IsEmpty());
}

TEST_F(WaitHandleTest, WaitMayOwnItsOwnHandle) {
  WaitEngine engine(Simulated());
  for (const bool cancelled : {false, true}) {
    auto self = std::make_shared<WaitHandle>();
    *self = engine.Start(
        Waiter([polls = 0]() mutable { return ++polls == 3; }, EverySecond()),
        [this, self, token = token_](WaitResult<> result) {
          results_.Take()(std::move(result));
        });
    if (cancelled) self->Cancel();
  }

  engine.Run();

  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kCancelled, StopReason::kSuccess));
  EXPECT_EQ(held(), 0);
}

}  // namespace
}  // namespace waiter::wait_handle_test
