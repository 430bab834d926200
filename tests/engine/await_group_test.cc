// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "gtest/gtest.h"
#include "waiter/engine/coroutine.h"

#ifdef WAITER_HAS_COROUTINES

#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/support/coroutine.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::await_group_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Waits for things that are ready at the given seconds; a negative one fails.
class AwaitGroupTest : public EngineFixture {
 protected:
  using Function = std::function<Poll<int>()>;
  using Ready = Waiter<Function>;

  std::vector<Ready> WaitsFor(const std::vector<int>& seconds) {
    std::vector<Ready> waits;
    waits.reserve(seconds.size());
    for (const int second : seconds) {
      waits.emplace_back(
          [this, second, token = token_]() -> Poll<int> {
            ++polls_;
            if (clock_.Elapsed() < absl::Seconds(std::abs(second))) {
              return NotReady();
            }
            if (second < 0) return Failed("broken");
            return Success(second);
          },
          EverySecond());
    }
    return waits;
  }

  // Records the reasons, and the time of the end.
  Coroutine Note(WaitGroupAwaitable<Ready> group) {
    std::vector<WaitResult<int>> results = co_await std::move(group);
    for (const WaitResult<int>& result : results) {
      reasons_.push_back(result.reason());
    }
    ended_at_ = clock_.Elapsed();
  }

  WaitEngine engine_{Simulated()};
  std::vector<StopReason> reasons_;
  std::optional<absl::Duration> ended_at_;
};

constexpr StopReason kSuccess = StopReason::kSuccess;
constexpr StopReason kCancelled = StopReason::kCancelled;
constexpr StopReason kFailed = StopReason::kFailed;

TEST_F(AwaitGroupTest, EachRunsToItsOwnEndAndResultsKeepTheOrder) {
  std::vector<int> values;
  const auto wait = [&]() -> Coroutine {
    auto waits = WaitsFor({3, 1, 2});
    for (WaitResult<int>& result :
         co_await AwaitEach(engine_, std::move(waits))) {
      values.push_back(result.value());
    }
  };

  const Coroutine task = wait();
  EXPECT_FALSE(task.done());
  engine_.Run();

  EXPECT_THAT(values, ElementsAre(3, 1, 2));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(3));
}

TEST_F(AwaitGroupTest, FailureDoesNotEndEachButAll) {
  Coroutine task = Note(AwaitEach(engine_, WaitsFor({3, -1, 2})));
  engine_.Run();
  EXPECT_THAT(reasons_, ElementsAre(kSuccess, kFailed, kSuccess));
  EXPECT_EQ(ended_at_, absl::Seconds(3));

  reasons_.clear();
  task = Note(AwaitAll(engine_, WaitsFor({9, -5, 2})));
  engine_.Run();
  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kFailed, kSuccess));
  EXPECT_EQ(ended_at_, absl::Seconds(5));
}

TEST_F(AwaitGroupTest, FirstSuccessesCancelTheRest) {
  Coroutine task = Note(AwaitAny(engine_, WaitsFor({3, 1, 2})));
  engine_.Run();
  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kSuccess, kCancelled));
  EXPECT_EQ(ended_at_, absl::Seconds(1));

  reasons_.clear();
  task = Note(AwaitFirstN(2, engine_, WaitsFor({8, 6, 7})));
  engine_.Run();
  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kSuccess, kSuccess));
  EXPECT_EQ(ended_at_, absl::Seconds(7));
}

TEST_F(AwaitGroupTest, NoWaitsResumeTheCoroutineOnTheEngine) {
  const Coroutine task = Note(AwaitEach(engine_, std::vector<Ready>()));
  EXPECT_FALSE(task.done());

  engine_.Run();

  EXPECT_TRUE(task.done());
  EXPECT_THAT(reasons_, IsEmpty());
}

TEST_F(AwaitGroupTest, StopCancelsAllWaits) {
  waiter::stop_source stop;
  clock_.CallAt(absl::Milliseconds(1500), [&] { stop.request_stop(); });
  const Coroutine task =
      Note(AwaitEach(engine_, WaitsFor({1, 2, 3}), stop.get_token()));

  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kSuccess, kCancelled, kCancelled));
  EXPECT_EQ(ended_at_, absl::Milliseconds(1500));
}

TEST_F(AwaitGroupTest, StopBeforePreventsEveryPoll) {
  waiter::stop_source stop;
  stop.request_stop();
  const Coroutine task =
      Note(AwaitEach(engine_, WaitsFor({1, 2}), stop.get_token()));

  engine_.Run();

  EXPECT_THAT(reasons_, ElementsAre(kCancelled, kCancelled));
  EXPECT_EQ(polls_, 0);
}

TEST_F(AwaitGroupTest, OptionsHaveTheStopAndTheNames) {
  waiter::stop_source stop;
  clock_.CallAt(absl::Milliseconds(1500), [&] { stop.request_stop(); });
  std::vector<std::string> messages;
  const auto wait = [&]() -> Coroutine {
    WaitGroupOptions options = {
        .successes_required = 1, .stop = stop.get_token(), .names = {"a", "b"}};
    auto waits = WaitsFor({1, 2});
    for (const WaitResult<int>& result :
         co_await AwaitAll(engine_, std::move(waits), std::move(options))) {
      messages.emplace_back(result.status().message());
    }
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_THAT(messages, ElementsAre("", StartsWith("b: stop requested")));
}

TEST_F(AwaitGroupTest, NothingStartsBeforeTheAwait) {
  {
    auto group = AwaitAll(engine_, WaitsFor({1, 2}));
    auto moved = std::move(group);
    engine_.Run();
  }

  EXPECT_EQ(polls_, 0);
  EXPECT_EQ(held(), 0);
}

TEST_F(AwaitGroupTest, DestroyingTheFrameEndsTheWaits) {
  Coroutine task = Note(AwaitEach(engine_, WaitsFor({7, 8})));
  clock_.CallAt(absl::Milliseconds(2500), [&] { task = Coroutine(); });

  engine_.Run();

  EXPECT_EQ(polls_, 6);
  EXPECT_FALSE(ended_at_.has_value());
  EXPECT_EQ(held(), 0);
}

TEST_F(AwaitGroupTest, EndOfTheEngineIsAResultOfEach) {
  std::optional<WaitEngine> engine(Simulated());
  const Coroutine task = Note(AwaitEach(*engine, WaitsFor({1, 2})));
  engine->RunDue();

  engine.reset();

  EXPECT_THAT(reasons_,
              ElementsAre(StopReason::kShutDown, StopReason::kShutDown));
}

TEST_F(AwaitGroupTest, AsynchronousWaitsAreAwaitedToo) {
  std::optional<bool> ok;
  const auto wait = [&]() -> Coroutine {
    auto poll = [](const PollCompletion<>& done) { done(Success()); };
    std::vector<AsyncWaiter<decltype(poll)>> waits(
        3, AsyncWaiter(poll, EverySecond()));
    auto results = co_await AwaitAll(engine_, std::move(waits));
    ok = results.size() == 3 && results[0].ok() && results[2].ok();
  };

  const Coroutine task = wait();
  engine_.Run();

  EXPECT_EQ(ok, true);
}

// The coroutine ends, with its frame and the engine, while the thread that
// started the waits may still be inside the call.
TEST(AwaitGroupThreadsTest, EngineMayEndWhenTheCoroutineHasEnded) {
  for (int round = 0; round < 200; ++round) {
    auto engine = std::make_unique<WaitEngine>(WaitEngineOptions{.threads = 2});
    std::latch ended(1);
    waiter::stop_source stop;
    std::optional<Coroutine> task;
    const auto wait = [&](WaitEngine& running) -> Coroutine {
      {
        auto poll = [left = 2]() mutable { return left-- == 0; };
        std::vector<Waiter<decltype(poll)>> waits;
        waits.reserve(3);
        for (int i = 0; i < 3; ++i) {
          waits.emplace_back(
              poll, WaitOptions{.timeout = absl::Hours(1),
                                .backoff = Every(absl::Microseconds(10))});
        }
        (void)co_await AwaitEach(running, std::move(waits), stop.get_token());
      }
      ended.count_down();
    };
    JoiningThread starter([&] { task.emplace(wait(*engine)); });
    JoiningThread stopper([&] { stop.request_stop(); });

    ended.wait();
    engine.reset();
  }
}

}  // namespace
}  // namespace waiter::await_group_test

#else

TEST(AwaitGroupTest, CoroutinesAreAbsentWithoutAnError) {
  GTEST_SKIP() << "this compiler has no coroutines";
}

#endif  // WAITER_HAS_COROUTINES
