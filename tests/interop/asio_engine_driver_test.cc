// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Engines that a context of Asio drives. Asio has its own clock, so these tests
// run in real time. None depends on how much of it passes.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_BOOST

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "boost/asio.hpp"
#include "gmock/gmock.h"
#include "tests/interop/asio_waits.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/interop/asio.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::asio_engine_driver_test {
namespace {

namespace asio = boost::asio;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::SizeIs;
using ThreadId = std::thread::id;

class AsioEngineDriverTest : public testing::Test {
 protected:
  asio::io_context io_;
};

TEST_F(AsioEngineDriverTest, ContextRunsUntilAllWaitsHaveEnded) {
  AsioEngineDriver driver(io_);
  std::vector<ThreadId> threads;
  int polls = 0;
  for (int i = 1; i <= 3; ++i) {
    driver.engine()
        .Start(Waiter(
                   [&, left = i]() mutable {
                     ++polls;
                     return --left == 0;
                   },
                   Quick()),
               [&](const WaitResult<>& result) {
                 EXPECT_TRUE(result.ok());
                 threads.push_back(std::this_thread::get_id());
               })
        .Detach();
  }
  EXPECT_EQ(polls, 0);

  io_.run();

  EXPECT_EQ(polls, 6);
  EXPECT_THAT(threads, AllOf(SizeIs(3), Each(Eq(std::this_thread::get_id()))));
  EXPECT_EQ(driver.engine().statistics().pending, 0);
}

TEST_F(AsioEngineDriverTest, OtherThreadsStartNotifyCancelAndAnswer) {
  AsioEngineDriver driver(io_, {.tick = absl::ZeroDuration()});
  auto work = asio::make_work_guard(io_);
  JoiningThread runner([&] { io_.run(); });
  const auto end_of = [](auto&& wait, auto end) {
    std::promise<StopReason> ended;
    WaitHandle handle = wait(
        [&](const WaitResult<>& result) { ended.set_value(result.reason()); });
    end(handle);
    return ended.get_future().get();
  };
  for (int round = 0; round < 100; ++round) {
    std::latch polled(1);
    std::atomic<bool> again = false;
    EXPECT_EQ(end_of(
                  [&](auto done) {
                    return driver.engine().Start(
                        Waiter([&] { return again.exchange(true); }, Slow()),
                        done);
                  },
                  [&](WaitHandle& handle) {
                    while (!again) std::this_thread::yield();
                    handle.PollNow();
                  }),
              StopReason::kSuccess);
    EXPECT_EQ(end_of(
                  [&](auto done) {
                    return driver.engine().Start(NeverReady(), done);
                  },
                  [](WaitHandle& handle) { handle.Cancel(); }),
              StopReason::kCancelled);
    std::optional<PollCompletion<>> answer;
    EXPECT_EQ(end_of(
                  [&](auto done) {
                    return driver.engine().Start(
                        AsyncWaiter(
                            [&](PollCompletion<> completion) {
                              answer = std::move(completion);
                              polled.count_down();
                            },
                            Slow()),
                        done);
                  },
                  [&](WaitHandle&) {
                    polled.wait();
                    (*answer)(Success());
                  }),
              StopReason::kSuccess);
  }
  work.reset();
}

TEST_F(AsioEngineDriverTest, SeveralThreadsRunTheContextWithoutAStrand) {
  constexpr int kWaits = 500;
  AsioEngineDriver driver(io_, {.tick = absl::ZeroDuration()});
  std::atomic<int> inside = 0;
  std::atomic<int> ended = 0;
  {
    auto work = asio::make_work_guard(io_);
    std::vector<JoiningThread> runners;
    runners.reserve(3);
    for (int i = 0; i < 3; ++i) runners.emplace_back([&] { io_.run(); });
    for (int i = 0; i < kWaits; ++i) {
      driver.engine()
          .Start(Waiter(
                     [&, left = 1 + i % 4]() mutable {
                       EXPECT_EQ(++inside, 1);
                       --inside;
                       return --left == 0;
                     },
                     WaitOptions{.timeout = absl::Hours(1),
                                 .backoff = Every(absl::Microseconds(50))}),
                 [&](const WaitResult<>&) { ++ended; })
          .Detach();
    }
    work.reset();
  }

  EXPECT_EQ(ended, kWaits);
}

TEST_F(AsioEngineDriverTest, WaitsStartedLaterAreRunAfterARestart) {
  AsioEngineDriver driver(io_);
  std::vector<StopReason> reasons;
  for (int i = 0; i < 3; ++i) {
    driver.engine()
        .Start(Waiter([left = 2]() mutable { return --left == 0; }, Quick()),
               [&](const WaitResult<>& result) {
                 reasons.push_back(result.reason());
               })
        .Detach();
    io_.restart();
    io_.run();
    EXPECT_THAT(reasons, SizeIs(i + 1));
  }
}

TEST_F(AsioEngineDriverTest, WaitThatIsDueAtOnceHoldsUpNoOtherWork) {
  AsioEngineDriver driver(io_);
  bool stop = false;
  driver.engine()
      .Start(Waiter([&] { return stop; },
                    WaitOptions{.timeout = absl::Hours(1),
                                .backoff = Every(absl::ZeroDuration())}),
             [](const WaitResult<>&) {})
      .Detach();
  asio::steady_timer timer(io_, std::chrono::milliseconds(2));
  timer.async_wait([&](const boost::system::error_code&) { stop = true; });

  io_.run();

  EXPECT_TRUE(stop);
}

TEST_F(AsioEngineDriverTest, PoolOfThreadsRunsTheEngine) {
  asio::thread_pool pool(3);
  std::optional<AsioEngineDriver> driver(std::in_place, pool);
  std::vector<std::future<WaitResult<int>>> futures;
  futures.reserve(100);
  for (int i = 0; i < 100; ++i) {
    futures.push_back(
        AsyncWait(driver->engine(), ReadyAfter(1 + i % 3), asio::use_future));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(futures[static_cast<size_t>(i)].get().value(), 1 + i % 3);
  }
  driver.reset();
}

TEST_F(AsioEngineDriverTest, StrandRunsTheEngine) {
  auto strand = asio::make_strand(io_);
  AsioEngineDriver driver(strand, {.tick = absl::ZeroDuration()});
  std::atomic<int> ended = 0;
  for (int i = 0; i < 100; ++i) {
    AsyncWait(driver.engine(), ReadyAfter(1 + i % 3),
              asio::bind_executor(strand, [&](const WaitResult<int>&) {
                EXPECT_TRUE(strand.running_in_this_thread());
                ++ended;
              }));
  }

  JoiningThread other([&] { io_.run(); });
  io_.run();
  other.join();

  EXPECT_EQ(ended, 100);
}

// These handlers have no separate queue.
TEST_F(AsioEngineDriverTest, ExceptionLeavesHandlersWithoutAnExecutorToIt) {
  AsioEngineDriver driver(io_);
  const ThreadId here = std::this_thread::get_id();
  int calls = 0;
  for (int i = 0; i < 4; ++i) {
    AsyncWait(driver.engine(), ReadyAfter(1), [&](const WaitResult<int>&) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      if (++calls == 1) throw std::runtime_error("first");
    });
  }

  EXPECT_THROW(io_.run(), std::runtime_error);
  EXPECT_EQ(calls, 1);
  io_.run();

  EXPECT_EQ(calls, 4);
}

TEST_F(AsioEngineDriverTest, HandlerWithoutAnExecutorMayDestroyTheDriver) {
  std::optional<AsioEngineDriver> driver(std::in_place, io_);
  AsyncWait(driver->engine(), ReadyAfter(2),
            [&](const WaitResult<int>&) { driver.reset(); });

  io_.run();

  EXPECT_FALSE(driver.has_value());
}

TEST_F(AsioEngineDriverTest, DestructorCallsBackAndLeavesNoWork) {
  std::vector<StopReason> reasons;
  std::optional<AsioEngineDriver> driver(std::in_place, io_);
  driver->engine()
      .Start(NeverReady(),
             [&](const WaitResult<>& result) {
               reasons.push_back(result.reason());
               EXPECT_EQ(driver->engine().statistics().pending, 1);
             })
      .Detach();
  io_.poll();

  driver.reset();

  EXPECT_THAT(reasons, ElementsAre(StopReason::kShutDown));
  io_.restart();
  io_.run();  // Returns.
}

TEST_F(AsioEngineDriverTest, DestructorAwaitsATurnOnAnotherThread) {
  for (int round = 0; round < 200; ++round) {
    std::optional<AsioEngineDriver> driver(std::in_place, io_);
    std::atomic<int> ended = 0;
    for (int i = 0; i < 10; ++i) {
      driver->engine()
          .Start(Waiter([left = i]() mutable { return left-- == 0; },
                        WaitOptions{.timeout = absl::Hours(1),
                                    .backoff = Every(absl::Microseconds(5))}),
                 [&](const WaitResult<>&) { ++ended; })
          .Detach();
    }
    io_.restart();
    JoiningThread runner([&] { io_.run(); });
    JoiningThread second([&] { io_.run(); });
    if (round % 2 == 0) std::this_thread::yield();
    driver.reset();
    EXPECT_EQ(ended, 10);
  }
}

TEST_F(AsioEngineDriverTest, CoroutineMayOwnTheDriver) {
  std::optional<int> value;
  const auto work = [&]() -> asio::awaitable<void> {
    AsioEngineDriver driver(co_await asio::this_coro::executor);
    auto wait = ReadyAfter(2);
    WaitResult<int> result = co_await AsyncWait(
        driver.engine(), std::move(wait), asio::use_awaitable);
    value = result.value();
  };
  asio::co_spawn(io_, work(), asio::detached);

  io_.run();

  EXPECT_EQ(value, 2);
}

TEST_F(AsioEngineDriverTest, ContextMayEndWithWaitsOfADriverInIt) {
  const auto held = std::make_shared<int>();
  {
    asio::io_context io;
    const auto work = [held]() -> asio::awaitable<void> {
      AsioEngineDriver driver(co_await asio::this_coro::executor);
      auto wait = NeverReady();
      (void)co_await AsyncWait(driver.engine(), std::move(wait),
                               asio::use_awaitable);
      ADD_FAILURE() << "resumed";
    };
    asio::co_spawn(io, work(), asio::detached);
    io.poll();
  }
  EXPECT_EQ(held.use_count(), 1);
}

using AsioEngineDriverDeathTest = AsioEngineDriverTest;

TEST_F(AsioEngineDriverDeathTest, DestructorInsideOfAWaitTerminates) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        std::optional<AsioEngineDriver> driver(std::in_place, io_);
        driver->engine()
            .Start(Waiter([] { return true; }, Quick()),
                   [&](const WaitResult<>&) { driver.reset(); })
            .Detach();
        io_.run();
      },
      "destroyed by one of its own waits");
}

}  // namespace
}  // namespace waiter::asio_engine_driver_test

#else

TEST(AsioEngineDriverTest, NeedsBoost) {
  GTEST_SKIP() << "this machine has no headers of Boost.Asio";
}

#endif  // WAITER_HAS_BOOST
