// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Events during the destruction of a `WaitEngine`.

#include <pthread.h>
#include <sys/resource.h>

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
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
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

// Polls on the executor start waits while the engine is destroyed. They may
// pick any worker, even one that has ended all its waits.
TEST(EngineShutdownTest, WaitsThatPollsStartDuringTheShutdownEnd) {
  for (int round = 0; round < 50; ++round) {
    Ends ends;
    std::latch began(1);
    JoiningThread pool;
    auto engine = std::make_unique<WaitEngine>(WaitEngineOptions{
        .threads = 2, .executor = [&](absl::AnyInvocable<void()> poll) {
          if (!pool.joinable()) pool = JoiningThread(std::move(poll));
        }});
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
    pool.join();

    EXPECT_THAT(ends.reasons(), SizeIs(9));
    EXPECT_THAT(ends.reasons(), Each(StopReason::kShutDown));
    EXPECT_EQ(ends.alive(), 0);
  }
}

TEST(EngineShutdownTest, CallbackThatAlwaysStartsItsWaitAgainDoesNotHoldItUp) {
  for (const int threads : {0, 1, 2}) {
    Ends ends;
    auto engine =
        std::make_unique<WaitEngine>(WaitEngineOptions{.threads = threads});
    std::function<void(StopReason)> again =
        [&, &running = *engine](StopReason /*reason*/) {
          running.Start(NeverReady(), ends.Take(again)).Detach();
        };
    again(StopReason::kSuccess);

    engine.reset();

    // The first wait and 32 descendants. The next start does nothing.
    EXPECT_THAT(ends.reasons(), SizeIs(33));
    EXPECT_THAT(ends.reasons(), Each(StopReason::kShutDown));
    again = nullptr;
    EXPECT_EQ(ends.alive(), 0);
  }
}

TEST(EngineShutdownTest, PollUnderWayIsToldByItsStopToken) {
  for (const bool on_executor : {false, true}) {
    Ends ends;
    JoiningThread pool;
    WaitEngineOptions options;
    if (on_executor) {
      options.executor = [&](absl::AnyInvocable<void()> poll) {
        pool = JoiningThread(std::move(poll));
      };
    }
    std::latch began(1);
    auto engine = std::make_unique<WaitEngine>(options);
    engine
        ->Start(Waiter(
                    [&](const PollContext& context) {
                      began.count_down();
                      std::latch stopped(1);
                      const waiter::stop_callback on_stop(
                          context.stop_token, [&] { stopped.count_down(); });
                      stopped.wait();
                      return false;
                    },
                    Forever()),
                ends.Take())
        .Detach();
    began.wait();

    engine.reset();

    EXPECT_THAT(ends.reasons(), ElementsAre(StopReason::kShutDown));
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
    engine.RunDue();
    ASSERT_THAT(*polls, SizeIs(1));
    polls.reset();
  }

  EXPECT_THAT(ends.reasons(), ElementsAre(StopReason::kShutDown));
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

TEST(EngineShutdownTest, TaskThatOutlivesTheEngineDoesNothing) {
  Ends ends;
  int polls = 0;
  absl::AnyInvocable<void()> kept;
  {
    WaitEngine engine(
        {.threads = 0, .executor = [&](absl::AnyInvocable<void()> poll) {
           kept = std::move(poll);
         }});
    engine
        .Start(Waiter(
                   [&] {
                     ++polls;
                     return true;
                   },
                   Forever()),
               ends.Take())
        .Detach();
    engine.RunDue();
  }
  EXPECT_THAT(ends.reasons(), ElementsAre(StopReason::kShutDown));

  std::move(kept)();

  EXPECT_EQ(polls, 0);
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

}  // namespace
}  // namespace waiter::engine_shutdown_test
