// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/coroutine.h"

#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"

#ifdef WAITER_HAS_COROUTINES

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/support/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

class CoroutineTest : public testing::Test {
 protected:
  WaitOptions Options(absl::Duration timeout) {
    return {.timeout = timeout,
            .backoff = {.initial_delay = absl::Seconds(1),
                        .max_delay = absl::Seconds(1),
                        .jitter = Jitter::None()},
            .clock = &clock_};
  }

  SimulatedClock clock_;
  WaitEngine engine_{
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_}};
};

TEST_F(CoroutineTest, WaitReturnsItsValue) {
  ScriptedPoll<int> script(clock_, {NotReady(), NotReady(), Success(42)});
  std::optional<WaitResult<int>> result;
  const auto wait = [&]() -> Coroutine {
    result = co_await Await(
        engine_, Waiter(std::ref(script), Options(absl::Minutes(1))));
  };

  const Coroutine task = wait();
  EXPECT_FALSE(task.done());
  engine_.Run();

  ASSERT_TRUE(task.done());
  EXPECT_EQ(result->value(), 42);
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(2));
}

TEST_F(CoroutineTest, WaitsRunOneAfterAnother) {
  std::vector<absl::Duration> ends;
  const auto wait = [&]() -> Coroutine {
    for (int i = 0; i < 3; ++i) {
      const WaitResult<> result = co_await Await(
          engine_, Waiter([] { return false; }, Options(absl::Seconds(2))));
      EXPECT_EQ(result.reason(), StopReason::kDeadline);
      ends.push_back(clock_.Elapsed());
    }
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_THAT(ends, testing::ElementsAre(absl::Seconds(2), absl::Seconds(4),
                                         absl::Seconds(6)));
}

TEST_F(CoroutineTest, StopRequestEndsTheWaitAtOnce) {
  waiter::stop_source stop;
  clock_.CallAt(absl::Milliseconds(1500), [&] { stop.request_stop(); });
  std::optional<WaitResult<>> result;
  const auto wait = [&]() -> Coroutine {
    result = co_await Await(
        engine_, Waiter([] { return false; }, Options(absl::Minutes(1))),
        stop.get_token());
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_EQ(result->reason(), StopReason::kCancelled);
  EXPECT_EQ(result->report().attempts, 2);
  EXPECT_EQ(clock_.Elapsed(), absl::Milliseconds(1500));
}

TEST_F(CoroutineTest, StopRequestedBeforePreventsEveryPoll) {
  waiter::stop_source stop;
  stop.request_stop();
  int polls = 0;
  std::optional<WaitResult<>> result;
  const auto wait = [&]() -> Coroutine {
    result = co_await Await(
        engine_, Waiter([&] { return ++polls > 0; }, Options(absl::Minutes(1))),
        stop.get_token());
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_EQ(result->reason(), StopReason::kCancelled);
  EXPECT_EQ(polls, 0);
}

TEST_F(CoroutineTest, ExceptionOfTheStatusFunctionIsThrownFromTheAwait) {
  const auto wait = [&]() -> Coroutine {
    (void)co_await Await(
        engine_, Waiter([]() -> bool { throw std::runtime_error("lost"); },
                        Options(absl::Minutes(1))));
    ADD_FAILURE() << "the coroutine continued";
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_THROW(task.Rethrow(), std::runtime_error);
}

TEST_F(CoroutineTest, DestroyingTheFrameCancelsTheWait) {
  int polls = 0;
  const auto wait = [&]() -> Coroutine {
    (void)co_await Await(engine_, Waiter([&] { return ++polls > 100; },
                                         Options(absl::Minutes(10))));
    ADD_FAILURE() << "the coroutine resumed";
  };

  Coroutine task = wait();
  clock_.CallAt(absl::Milliseconds(2500), [&] { task.Destroy(); });
  engine_.Run();

  EXPECT_EQ(polls, 3);
}

TEST_F(CoroutineTest, AsynchronousStatusFunctionIsAwaitedToo) {
  int polls = 0;
  std::optional<WaitResult<std::string>> result;
  const auto wait = [&]() -> Coroutine {
    result = co_await Await(
        engine_,
        AsyncWaiter(
            [&](const PollContext& context, PollCompletion<std::string> done) {
              ++polls;
              clock_.CallAt(clock_.Elapsed() + absl::Seconds(3),
                            [done, attempt = context.attempt] {
                              if (attempt < 2) return done(NotReady());
                              done(Success(std::string("here")));
                            });
            },
            Options(absl::Minutes(1))));
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_EQ(result->value(), "here");
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(7));
}

// Libraries of senders do the same: they store an awaitable, move it, and await
// it in another coroutine.
template <typename Awaitable>
Coroutine AwaitStored(Awaitable stored, typename Awaitable::value_type& value) {
  auto result = co_await std::move(stored);
  value = result.value();
}

TEST_F(CoroutineTest, AwaitableMayBeStoredAndMovedBeforeItIsAwaited) {
  int polls = 0;
  auto first = Await(engine_, Waiter(
                                  [&, movable = std::make_unique<int>(7)] {
                                    ++polls;
                                    return Success(*movable);
                                  },
                                  Options(absl::Minutes(1))));
  static_assert(std::is_nothrow_move_constructible_v<decltype(first)>);
  static_assert(!std::is_copy_constructible_v<decltype(first)>);
  auto second = std::move(first);
  engine_.Run();
  EXPECT_EQ(polls, 0);

  int value = 0;
  const Coroutine task = AwaitStored(std::move(second), value);
  engine_.Run();

  EXPECT_TRUE(task.done());
  EXPECT_EQ(value, 7);
  EXPECT_EQ(polls, 1);
}

TEST_F(CoroutineTest, AwaitableThatIsNotAwaitedStartsNothing) {
  const auto held = std::make_shared<int>();
  waiter::stop_source stop;
  {
    const auto unused = Await(
        engine_, Waiter([held] { return true; }, Options(absl::Minutes(1))),
        stop.get_token());
    EXPECT_EQ(held.use_count(), 2);
  }

  EXPECT_EQ(held.use_count(), 1);
  stop.request_stop();
  EXPECT_EQ(engine_.statistics().pending, 0);
}

TEST_F(CoroutineTest, EndOfTheEngineIsAResult) {
  std::optional<WaitResult<>> result;
  std::optional<WaitEngine> engine;
  engine.emplace(WaitEngineOptions{
      .threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
  const auto wait = [&]() -> Coroutine {
    result = co_await Await(
        *engine, Waiter([] { return false; }, Options(absl::Minutes(1))));
  };

  const Coroutine task = wait();
  engine->RunDue();
  engine.reset();

  EXPECT_EQ(result->reason(), StopReason::kShutDown);
}

TEST_F(CoroutineTest, CoroutineThatAlwaysAwaitsAgainDoesNotHoldUpTheEnd) {
  int results = 0;
  std::optional<Coroutine> task;
  auto owner = std::make_unique<WaitEngine>(
      WaitEngineOptions{.threads = 0, .clock = &clock_});
  WaitEngine& engine = *owner;
  const auto wait = [&]() -> Coroutine {
    while (true) {
      const WaitResult<> result = co_await Await(
          engine, Waiter([] { return false; }, Options(absl::Minutes(1))));
      EXPECT_EQ(result.reason(), StopReason::kShutDown);
      ++results;
    }
  };
  task.emplace(wait());

  owner.reset();

  EXPECT_EQ(results, 33);  // The first wait and 32 more.
}

TEST_F(CoroutineTest, StatusFunctionMayDestroyTheFrame) {
  std::optional<Coroutine> task;
  const auto destroy = [&task] {
    task->Destroy();
    return false;
  };
  const auto wait = [&]() -> Coroutine {
    (void)co_await Await(engine_, Waiter(destroy, Options(absl::Minutes(1))));
    ADD_FAILURE() << "the coroutine resumed";
  };

  task.emplace(wait());
  engine_.Run();

  EXPECT_EQ(engine_.statistics().polls, 1);
}

TEST(CoroutineThreadTest, DestroyingTheFrameAwaitsAPoll) {
  WaitEngine engine({.tick = absl::ZeroDuration()});
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> gone = false;
    std::optional<Coroutine> task;
    const auto poll = [&gone] {
      for (std::atomic<int> spins = 0; spins < 50;) ++spins;
      EXPECT_FALSE(gone);
      return false;
    };
    const auto wait = [&]() -> Coroutine {
      WaitOptions options = {
          .timeout = absl::Hours(1),
          .backoff = {.initial_delay = absl::Microseconds(30),
                      .max_delay = absl::Microseconds(30)}};
      (void)co_await Await(engine, Waiter(poll, std::move(options)));
      ADD_FAILURE() << "the coroutine resumed";
    };
    task.emplace(wait());
    for (std::atomic<int> spins = 0; spins < round * 50;) ++spins;
    task->Destroy();
    gone = true;
  }
}

TEST(CoroutineThreadTest, CoroutineResumesOnAThreadOfTheEngine) {
  std::latch resumed(1);
  std::thread::id resumed_on;
  std::optional<Coroutine> task;  // Outlives the thread that runs it.
  WaitEngine engine;
  const auto wait = [&]() -> Coroutine {
    Waiter at_once([] { return true; }, {.timeout = absl::Minutes(1)});
    (void)co_await Await(engine, std::move(at_once));
    resumed_on = std::this_thread::get_id();
    resumed.count_down();
  };

  task.emplace(wait());
  resumed.wait();

  EXPECT_NE(resumed_on, std::this_thread::get_id());
}

// When the engine is destroyed, the thread that started a wait may still be
// inside the call, because the coroutine has already ended. Another thread
// requests a stop at any time.
TEST(CoroutineThreadTest, EngineMayEndWhenTheCoroutineHasEnded) {
  for (int round = 0; round < 300; ++round) {
    auto engine = std::make_unique<WaitEngine>();
    std::latch ended(1);
    std::optional<Coroutine> task;
    waiter::stop_source stop;
    const auto wait = [&](WaitEngine& running) -> Coroutine {
      Waiter soon([left = round % 3]() mutable { return left-- == 0; },
                  {.timeout = absl::Minutes(1),
                   .backoff = {.initial_delay = absl::Microseconds(10)}});
      (void)co_await Await(running, std::move(soon), stop.get_token());
      ended.count_down();
    };
    JoiningThread starter([&] { task.emplace(wait(*engine)); });
    const JoiningThread stopper([&] {
      for (std::atomic<int> spins = 0; spins < round % 7 * 500;) ++spins;
      stop.request_stop();
    });

    ended.wait();
    engine.reset();
    starter.join();
  }
}

}  // namespace
}  // namespace waiter

#else

TEST(CoroutineTest, CoroutinesAreAbsentWithoutAnError) {
  GTEST_SKIP() << "this compiler has no coroutines";
}

#endif  // WAITER_HAS_COROUTINES
