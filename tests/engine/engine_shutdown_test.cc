// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Events during the destruction of a `WaitEngine`.

#ifndef _WIN32
#include <pthread.h>
#include <sys/resource.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/unowned.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::engine_shutdown_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Counts the existing copies of a callback, and its calls.
class Ends {
 public:
  // Returns a callback that holds a token, and then calls `then`.
  auto Take(std::function<void(StopReason)> then = nullptr) {
    return [this, token = token_,
            then = std::move(then)](const WaitResult<>& result) {
      {
        const std::lock_guard lock(mutex_);
        reasons_.push_back(result.reason());
      }
      if (then != nullptr) then(result.reason());
    };
  }

  std::vector<StopReason> reasons() const {
    const std::lock_guard lock(mutex_);
    return reasons_;
  }
  // Returns how many callbacks have not been destroyed.
  int64_t alive() const { return token_.use_count() - 1; }

 private:
  mutable std::mutex mutex_;
  std::vector<StopReason> reasons_;
  std::shared_ptr<int> token_ = std::make_shared<int>();
};

std::shared_ptr<const WaitPolicy> Forever() {
  return WaitPolicy::Make({.timeout = absl::InfiniteDuration(),
                           .backoff = Every(absl::Milliseconds(1))});
}

auto NeverReady() {
  return Waiter([] { return false; }, Forever());
}

// Waits that polls start while the engine is destroyed. Polls on the executor
// may pick any worker, even one that has ended all its waits.
TEST(EngineShutdownTest, WaitsThatPollsStartDuringTheShutdownEnd) {
  for (int round = 0; round < 50; ++round) {
    Ends ends;
    std::latch began(1);
    JoiningThread pool;
    WaitEngineOptions options = {.threads = 2};
    if (round % 5 != 0) {
      options.executor = [&](absl::AnyInvocable<void()> poll) {
        if (!pool.joinable()) pool = JoiningThread(std::move(poll));
      };
    }
    auto engine = std::make_unique<WaitEngine>(options);
    WaitEngine& running = *engine;
    running
        .Start(Waiter(
                   [&](const PollContext& context) {
                     began.count_down();
                     std::latch shutting_down(1);
                     const waiter::stop_callback on_stop(
                         context.stop_token,
                         [&] { shutting_down.count_down(); });
                     shutting_down.wait();
                     for (int i = 0; i < 8; ++i) {
                       running.Start(NeverReady(), ends.Take()).Detach();
                     }
                     return false;
                   },
                   Forever()),
               ends.Take())
        .Detach();
    began.wait();
    engine.reset();

    EXPECT_THAT(ends.reasons(), SizeIs(9));
    EXPECT_THAT(ends.reasons(), Each(StopReason::kShutDown));
    EXPECT_EQ(ends.alive(), 0);
  }
}

TEST(EngineShutdownTest, AllWaitsThatACallbackStartsEnd) {
  for (const int threads : {0, 1, 2}) {
    Ends ends;
    std::atomic<int> polls = 0;
    {
      WaitEngine engine({.threads = threads});
      engine
          .Start(NeverReady(), ends.Take([&](StopReason /*reason*/) {
            for (int i = 0; i < 100; ++i) {
              engine
                  .Start(Waiter([&] { return ++polls > 0; }, Forever()),
                         ends.Take())
                  .Detach();
            }
          }))
          .Detach();
    }
    EXPECT_THAT(ends.reasons(), SizeIs(101));
    EXPECT_THAT(ends.reasons(), Each(StopReason::kShutDown));
    EXPECT_EQ(polls, 0);
  }
}

// Without threads, that is the thread that destroys the engine.
TEST(EngineShutdownTest, CallbacksAreOnTheThreadsOfTheirWaits) {
  for (const int threads : {0, 1, 3}) {
    std::vector<std::thread::id> polled(6);
    std::latch polls(6);
    {
      WaitEngine engine({.threads = threads});
      for (std::thread::id& thread : polled) {
        engine
            .Start(Waiter(
                       [&] {
                         thread = std::this_thread::get_id();
                         polls.count_down();
                         return false;
                       },
                       {.timeout = absl::Hours(9),
                        .backoff = Every(absl::Hours(1))}),
                   [&](const WaitResult<>& result) {
                     EXPECT_EQ(result.reason(), StopReason::kShutDown);
                     EXPECT_EQ(std::this_thread::get_id(), thread);
                   })
            .Detach();
      }
      if (threads == 0) engine.RunDue();
      polls.wait();
    }
    for (const std::thread::id& thread : polled) {
      EXPECT_EQ(thread == std::this_thread::get_id(), threads == 0);
    }
  }
}

// Counts the waits that have ended, and calls `then` in each hook.
struct CountsEnds : WaitObserver {
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    ++ends;
    if (then != nullptr) then();
  }
  std::atomic<int> ends = 0;
  std::function<void()> then;
};

TEST(EngineShutdownTest, CallbackThatAlwaysStartsItsWaitAgainDoesNotHoldItUp) {
  for (const int threads : {0, 1, 2}) {
    Ends ends;
    CountsEnds observer;
    const auto policy = WaitPolicy::Make(
        {.timeout = absl::Hours(1), .hooks = {.observer = Unowned(observer)}});
    auto engine =
        std::make_unique<WaitEngine>(WaitEngineOptions{.threads = threads});
    std::function<void(StopReason)> again =
        [&, &running = *engine](StopReason /*reason*/) {
          running.Start(Waiter([] { return false; }, policy), ends.Take(again))
              .Detach();
        };
    again(StopReason::kSuccess);

    engine.reset();

    // The first wait and 32 descendants. The next start does nothing.
    EXPECT_THAT(ends.reasons(), SizeIs(33));
    EXPECT_THAT(ends.reasons(), Each(StopReason::kShutDown));
    EXPECT_EQ(observer.ends, 34);
    again = nullptr;
    EXPECT_EQ(ends.alive(), 0);
  }
}

TEST(EngineShutdownTest, HookThatAlwaysStartsAWaitAgainDoesNotHoldItUp) {
  for (const int threads : {0, 1}) {
    CountsEnds observer;
    {
      WaitEngine engine({.threads = threads});
      observer.then = [&] {
        if (observer.ends > 2000) return;
        engine
            .Start(Waiter([] { return false; },
                          {.timeout = absl::Hours(1),
                           .hooks = {.observer = Unowned(observer)}}),
                   [](const WaitResult<>&) {})
            .Detach();
      };
      observer.then();
    }
    EXPECT_LT(observer.ends, 100);
  }
}

// The waits of each group start the next one. Nothing may be left behind.
TEST(EngineShutdownTest, ChainOfGroupsDoesNotHoldItUp) {
  for (const int threads : {0, 1, 2}) {
    const auto token = std::make_shared<int>();
    std::atomic<int> groups = 0;
    std::function<void()> start;
    {
      WaitEngine engine({.threads = threads});
      start = [&] {
        std::vector<Waiter<std::function<bool()>>> waits;
        waits.emplace_back([] { return false; }, Forever());
        waits.emplace_back([] { return false; }, Forever());
        WaitGroup<>(engine, std::move(waits), {},
                    [&, token](const std::vector<WaitResult<>>& results) {
                      EXPECT_THAT(results, SizeIs(2));
                      if (++groups < 1000) start();
                    })
            .Detach();
      };
      start();
    }
    EXPECT_GE(groups, 1);
    EXPECT_LT(groups, 1000);
    EXPECT_EQ(token.use_count(), 1);
  }
}

TEST(EngineShutdownTest, FunctionMayDestroyAnotherEngine) {
  for (const int threads : {0, 1}) {
    Ends ends;
    std::latch destroyed(1);
    WaitEngine engine({.threads = threads});
    auto other = std::make_unique<WaitEngine>();
    other->Start(NeverReady(), ends.Take()).Detach();
    engine
        .Start(Waiter(
                   [&] {
                     other.reset();
                     destroyed.count_down();
                     return true;
                   },
                   Forever()),
               [](const WaitResult<>&) {})
        .Detach();
    if (threads == 0) engine.Run();
    destroyed.wait();

    EXPECT_THAT(ends.reasons(), ElementsAre(StopReason::kShutDown));
  }
}

TEST(EngineShutdownTest, PollUnderWayIsToldByItsStopTokenAndMaySucceed) {
  struct Case {
    int threads;
    bool on_executor;
    bool succeeds;
  };
  for (const auto& [threads, on_executor, succeeds] :
       {Case{1, false, false}, Case{1, false, true}, Case{1, true, false},
        Case{1, true, true}, Case{0, true, false}, Case{0, true, true}}) {
    Ends ends;
    JoiningThread pool;
    WaitEngineOptions options = {.threads = threads};
    if (on_executor) {
      options.executor = [&](absl::AnyInvocable<void()> poll) {
        pool = JoiningThread(std::move(poll));
      };
    }
    std::latch began(1);
    auto engine = std::make_unique<WaitEngine>(options);
    engine
        ->Start(Waiter(
                    [&, success = succeeds](const PollContext& context) {
                      began.count_down();
                      std::latch stopped(1);
                      const waiter::stop_callback on_stop(
                          context.stop_token, [&] { stopped.count_down(); });
                      stopped.wait();
                      return success;
                    },
                    Forever()),
                ends.Take())
        .Detach();
    if (threads == 0) engine->RunDue();
    began.wait();

    engine.reset();

    EXPECT_THAT(ends.reasons(), ElementsAre(succeeds ? StopReason::kSuccess
                                                     : StopReason::kShutDown));
  }
}

TEST(EngineShutdownTest, AsynchronousPollUnderWayIsToldByItsStopToken) {
  Ends ends;
  std::latch began(1);
  waiter::stop_token token;
  auto engine = std::make_unique<WaitEngine>();
  engine
      ->Start(AsyncWaiter(
                  [&](const PollContext& context, const PollCompletion<>&) {
                    token = context.stop_token;
                    began.count_down();
                  },
                  Forever()),
              ends.Take())
      .Detach();
  began.wait();

  engine.reset();

  EXPECT_TRUE(token.stop_requested());
  EXPECT_THAT(ends.reasons(), ElementsAre(StopReason::kShutDown));
}

// A poll refers to its worker, and the executor owns the polls.
TEST(EngineShutdownTest, ExecutorThatOwnsItsQueueIsDestroyed) {
  Ends ends;
  auto polls = std::make_shared<std::vector<absl::AnyInvocable<void()>>>();
  const std::weak_ptr<void> queue = polls;
  {
    WaitEngine engine(
        {.threads = 0, .executor = [polls](absl::AnyInvocable<void()> poll) {
           polls->push_back(std::move(poll));
         }});
    engine.Start(NeverReady(), ends.Take()).Detach();
    WaitHandle cancelled = engine.Start(NeverReady(), ends.Take());
    engine.RunDue();
    ASSERT_THAT(*polls, SizeIs(2));
    polls.reset();
    cancelled.Cancel();
    cancelled.Detach();
  }

  EXPECT_THAT(ends.reasons(), SizeIs(2));
  EXPECT_TRUE(queue.expired());
}

TEST(EngineShutdownTest, AnswerAfterTheEngineReadsNoClock) {
  auto clock = std::make_unique<SimulatedClock>();
  std::optional<PollCompletion<>> completion;
  {
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = clock.get()});
    engine
        .Start(AsyncWaiter(
                   [&](const PollCompletion<>& done) { completion = done; },
                   {.timeout = absl::Hours(1), .clock = clock.get()}),
               [](const WaitResult<>&) {})
        .Detach();
    engine.RunDue();
  }
  clock.reset();

  (*completion)(true);
}

TEST(EngineShutdownDeathTest, DestroyingTheEngineInAFunctionDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto die = [](int threads, bool in_callback) {
    std::unique_ptr<WaitEngine> engine;
    std::latch made(1);
    engine =
        std::make_unique<WaitEngine>(WaitEngineOptions{.threads = threads});
    const auto destroy = [&] {
      made.wait();
      engine.reset();
    };
    engine
        ->Start(Waiter(
                    [&] {
                      if (!in_callback) destroy();
                      return true;
                    },
                    Forever()),
                [&](const WaitResult<>&) { destroy(); })
        .Detach();
    made.count_down();
    if (threads == 0) engine->Run();
    std::latch(1).wait();
  };
  for (const int threads : {0, 1}) {
    for (const bool in_callback : {false, true}) {
      EXPECT_DEATH(die(threads, in_callback),
                   "a WaitEngine was destroyed by one of its own waits");
    }
  }
}

TEST(EngineShutdownDeathTest, DestroyingTheEngineInAPollOnAnExecutorDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        std::unique_ptr<WaitEngine> engine;
        std::latch made(1);
        engine = std::make_unique<WaitEngine>(
            WaitEngineOptions{.executor = [](absl::AnyInvocable<void()> poll) {
              std::thread(std::move(poll)).detach();
            }});
        engine
            ->Start(Waiter(
                        [&] {
                          made.wait();
                          engine.reset();
                          return true;
                        },
                        Forever()),
                    [](const WaitResult<>&) {})
            .Detach();
        made.count_down();
        std::latch(1).wait();
      },
      "a WaitEngine was destroyed by one of its own waits");
}

// A callback of one engine runs a second engine, whose callback destroys the
// first.
TEST(EngineShutdownDeathTest, DestroyingTheEngineFromANestedEngineDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto outer =
            std::make_unique<WaitEngine>(WaitEngineOptions{.threads = 0});
        outer
            ->Start(Waiter([] { return true; }, Forever()),
                    [&](const WaitResult<>&) {
                      WaitEngine inner({.threads = 0});
                      inner
                          .Start(Waiter([] { return true; }, Forever()),
                                 [&](const WaitResult<>&) { outer.reset(); })
                          .Detach();
                      inner.Run();
                    })
            .Detach();
        outer->Run();
      },
      "a WaitEngine was destroyed by one of its own waits");
}

#ifndef __GLIBC__
TEST(EngineShutdownTest, ThreadThatCannotStartIsThrown) {
  GTEST_SKIP() << "needs setrlimit(2), and stacks of 1 GiB as glibc has them";
}
#else
// Leaves memory for the stack of one more thread, and not for two.
void LimitToOneThread() {
  constexpr size_t kStack = size_t{1} << 30;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_setattr_default_np(&attributes);
  size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (std::fscanf(file, "%zu", &pages) != 1) std::abort();
  std::fclose(file);
  const size_t limit = pages * 4096 + kStack + kStack / 2;
  const rlimit memory = {.rlim_cur = limit, .rlim_max = limit};
  setrlimit(RLIMIT_AS, &memory);
}

TEST(EngineShutdownDeathTest, ThreadThatCannotStartIsThrown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        LimitToOneThread();
        try {
          const WaitEngine engine({.threads = 2});
          std::fprintf(stderr, "both threads started");
        } catch (const std::system_error& error) {
          std::fprintf(stderr, "thrown: %s", error.what());
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "thrown: .*Resource temporarily unavailable");
}
#endif

}  // namespace
}  // namespace waiter::engine_shutdown_test
