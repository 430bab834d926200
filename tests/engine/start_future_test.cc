// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/start_future.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/async_waiter.h"
#include "waiter/poll.h"
#include "waiter/poll_completion.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_report.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {
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
      StartFuture(engine, NeverReady(), stop.get_token());
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

}  // namespace
}  // namespace waiter
