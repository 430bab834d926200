// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/unowned.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::start_future_test {
namespace {

class StartFutureTest : public EngineFixture {
 protected:
  template <typename Result>
  static bool IsReady(const std::future<Result>& future) {
    return future.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }
};

TEST_F(StartFutureTest, FutureIsReadyOnceTheWaitHasEnded) {
  WaitEngine engine(Simulated());
  std::future<WaitResult<int>> future =
      StartFuture(engine, Waiter(
                              [&]() -> Poll<int> {
                                if (!CountPoll(polls_ == 2)) return NotReady();
                                return Success(42);
                              },
                              EverySecond()));
  engine.RunDue();
  EXPECT_FALSE(IsReady(future));

  engine.Run();

  ASSERT_TRUE(IsReady(future));
  EXPECT_EQ(future.get().value(), 42);
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(2));
}

TEST_F(StartFutureTest, ValueMayBeMovableOnlyAndThePollAsynchronous) {
  WaitEngine engine(Simulated());
  std::future<WaitResult<std::unique_ptr<int>>> future = StartFuture(
      engine, AsyncWaiter(
                  [](const PollCompletion<std::unique_ptr<int>>& done) {
                    done(Success(std::make_unique<int>(7)));
                  },
                  EverySecond()));

  engine.Run();

  EXPECT_EQ(*future.get().value(), 7);
}

TEST_F(StartFutureTest, ThreadMayBlockUntilTheEngineHasTheResult) {
  WaitEngine engine;
  std::vector<std::future<WaitResult<>>> futures;
  futures.reserve(20);
  for (int i = 0; i < 20; ++i) {
    futures.push_back(StartFuture(
        engine, Waiter([left = i]() mutable { return left-- == 0; },
                       WaitOptions{.timeout = absl::Hours(1),
                                   .backoff = Every(absl::Microseconds(10))})));
  }

  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
}

TEST_F(StartFutureTest, EveryOtherEndIsAResult) {
  std::optional<WaitEngine> engine(Simulated());
  std::future<WaitResult<>> at_deadline = StartFuture(
      *engine, Waiter([] { return false; }, EverySecond(absl::Seconds(3))));
  engine->Run();
  EXPECT_EQ(at_deadline.get().reason(), StopReason::kDeadline);

  std::future<WaitResult<>> shut_down = StartFuture(*engine, NeverReady());
  engine.reset();
  EXPECT_EQ(shut_down.get().reason(), StopReason::kShutDown);
}

TEST_F(StartFutureTest, StopEndsTheWait) {
  WaitEngine engine(Simulated());
  waiter::stop_source stop;
  std::future<WaitResult<>> future =
      StartFuture(engine, NeverReady(), {.stop = stop.get_token()});
  engine.RunDue();
  stop.request_stop();
  engine.RunDue();

  ASSERT_TRUE(IsReady(future));
  EXPECT_EQ(future.get().reason(), StopReason::kCancelled);
}

TEST_F(StartFutureTest, ExceptionOfTheStatusFunctionIsThrown) {
  WaitEngine engine(Simulated());
  std::future<WaitResult<>> future = StartFuture(
      engine, Waiter([]() -> bool { throw std::runtime_error("broken"); },
                     EverySecond()));

  engine.Run();

  EXPECT_THROW((void)future.get(), std::runtime_error);
}

TEST_F(StartFutureTest, DestroyedFutureDoesNotEndTheWait) {
  WaitEngine engine(Simulated());
  {
    std::future<WaitResult<>> future = StartFuture(
        engine, Waiter([&] { return CountPoll(polls_ == 2); }, EverySecond()));
  }

  engine.Run();

  EXPECT_EQ(polls_, 3);
}

// Starts its wait again in its last hook.
class Restarter : public WaitObserver {
 public:
  void OnDone(const WaitIdentity& /*wait*/,
              const WaitReport& /*report*/) override {
    if (futures.size() < 60) start();
  }

  std::function<void()> start;
  std::vector<std::future<WaitResult<>>> futures;
};

TEST_F(StartFutureTest, FutureOfAWaitThatIsDestroyedThrows) {
  Restarter restarter;
  std::optional<WaitEngine> engine(Simulated());
  WaitOptions options = EverySecond();
  options.hooks.observer = Unowned(restarter);
  restarter.start = [&] {
    restarter.futures.push_back(
        StartFuture(*engine, Waiter([] { return false; }, options)));
  };
  restarter.start();
  engine->RunDue();

  engine.reset();

  int shut_down = 0;
  int broken = 0;
  for (std::future<WaitResult<>>& future : restarter.futures) {
    ASSERT_TRUE(IsReady(future));
    try {
      EXPECT_EQ(future.get().reason(), StopReason::kShutDown);
      ++shut_down;
    } catch (const std::future_error& error) {
      EXPECT_EQ(error.code(), std::future_errc::broken_promise);
      ++broken;
    }
  }
  // As `~WaitEngine` says, after 32 more.
  EXPECT_EQ(shut_down, 33);
  EXPECT_GE(broken, 1);
}

TEST_F(StartFutureTest, StopThatCameBeforeIsAResultWithoutAPoll) {
  WaitEngine engine(Simulated());
  waiter::stop_source stop;
  stop.request_stop();
  std::future<WaitResult<>> future =
      StartFuture(engine, NeverReady(), {.stop = stop.get_token()});
  engine.Run();
  EXPECT_EQ(future.get().reason(), StopReason::kCancelled);
  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
}

}  // namespace
}  // namespace waiter::start_future_test
