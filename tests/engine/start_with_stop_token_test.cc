// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitEngine::Start` with a stop token. driver_conformance_test.cc tests the
// rules of a stop.

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::start_with_stop_token_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class StartWithStopTokenTest : public EngineFixture {
 protected:
  waiter::stop_source stop_;
};

TEST_F(StartWithStopTokenTest, RequestEndsADetachedWait) {
  WaitEngine engine(Simulated());
  engine.Start(NeverReady(), TakeHolding(), {.stop = stop_.get_token()})
      .Detach();
  clock_.CallAt(absl::Milliseconds(1500), [&] { stop_.request_stop(); });

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(polls_, 2);
  EXPECT_EQ(clock_.Elapsed(), absl::Milliseconds(1500));
  EXPECT_EQ(held(), 0);
}

TEST_F(StartWithStopTokenTest, RequestBeforeTheStartPreventsEveryPoll) {
  WaitEngine engine(Simulated());
  stop_.request_stop();
  engine.Start(NeverReady(), TakeHolding(), {.stop = stop_.get_token()})
      .Detach();

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
  EXPECT_EQ(polls_, 0);
}

TEST_F(StartWithStopTokenTest, RequestEndsAllWaitsOfTheTokenOfBothForms) {
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> waits;
  for (int i = 0; i < 3; ++i) {
    waits.push_back(engine.Start(NeverReady(), results_.Take(),
                                 {.stop = stop_.get_token()}));
    waits.push_back(
        engine.Start(AsyncWaiter([](const PollCompletion<>&) {}, EverySecond()),
                     results_.Take(), {.stop = stop_.get_token()}));
  }
  engine.RunDue();
  stop_.request_stop();

  engine.RunDue();

  EXPECT_THAT(results_.reasons(),
              AllOf(SizeIs(6), Each(Eq(StopReason::kCancelled))));
}

TEST_F(StartWithStopTokenTest, RequestStopsTheTokenOfThePollUnderWay) {
  WaitEngine engine(Simulated());
  bool told = false;
  engine
      .Start(AsyncWaiter(
                 [&](const PollContext& context, const PollCompletion<>&) {
                   told = context.stop_token.stop_requested();
                   stop_.request_stop();
                   told = !told && context.stop_token.stop_requested();
                 },
                 EverySecond()),
             results_.Take(), {.stop = stop_.get_token()})
      .Detach();

  engine.Run();

  EXPECT_TRUE(told);
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(StartWithStopTokenTest, WaitMayHaveANameToo) {
  WaitEngine engine(Simulated());
  std::string message;
  engine
      .Start(NeverReady(),
             [&](const WaitResult<>& result) {
               message = std::string(result.status().message());
             },
             {.name = "i-0abc", .stop = stop_.get_token()})
      .Detach();
  clock_.CallAt(absl::Milliseconds(1500), [&] { stop_.request_stop(); });

  engine.Run();

  EXPECT_THAT(message, StartsWith("i-0abc: stop requested"));
}

TEST_F(StartWithStopTokenTest, TokenWithoutAStateNeverStopsTheWait) {
  WaitEngine engine(Simulated());
  engine
      .Start(Waiter([this] { return CountPoll(polls_ == 2); }, EverySecond()),
             results_.Take(), {.stop = waiter::stop_token()})
      .Detach();

  engine.Run();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
}

TEST_F(StartWithStopTokenTest, WaitThatHasEndedLeavesNothingAtTheToken) {
  WaitEngine engine(Simulated());
  const auto ready = [this] {
    return Waiter([token = token_] { return true; }, EverySecond());
  };
  engine.Start(ready(), TakeHolding(), {.stop = stop_.get_token()}).Detach();
  engine.RunDue();
  WaitHandle destroyed =
      engine.Start(NeverReady(), TakeHolding(), {.stop = stop_.get_token()});
  engine.RunDue();
  destroyed = WaitHandle();
  engine.RunDue();
  EXPECT_EQ(held(), 0);
  // Uses the memory of the previous waits.
  engine.Start(NeverReady(), results_.Take()).Detach();
  engine.RunDue();

  stop_.request_stop();
  engine.RunDue();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(engine.statistics().pending, 1);
}

TEST_F(StartWithStopTokenTest, TokenMayOutliveTheEngine) {
  {
    WaitEngine engine(Simulated());
    engine.Start(NeverReady(), TakeHolding(), {.stop = stop_.get_token()})
        .Detach();
    engine.RunDue();
  }

  stop_.request_stop();

  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kShutDown));
  EXPECT_EQ(held(), 0);
}

TEST_F(StartWithStopTokenTest, FunctionsOfTheWaitMayRequestTheStop) {
  WaitEngine engine(Simulated());
  engine
      .Start(Waiter(
                 [this] {
                   stop_.request_stop();
                   return CountPoll(false);
                 },
                 EverySecond()),
             results_.Take(), {.stop = stop_.get_token()})
      .Detach();
  waiter::stop_source other;
  engine
      .Start(Ready(),
             [&](WaitResult<> result) {
               other.request_stop();
               results_.Take()(std::move(result));
             },
             {.stop = other.get_token()})
      .Detach();

  engine.Run();

  EXPECT_EQ(polls_, 1);
  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kCancelled, StopReason::kSuccess));
}

// A stop callback may destroy the handle while the request is still inside the
// wait.
TEST_F(StartWithStopTokenTest, PollThatIsToldMayDestroyTheHandle) {
  WaitEngine engine(Simulated());
  WaitHandle wait;
  std::optional<waiter::stop_callback<absl::AnyInvocable<void()>>> on_stop;
  wait = engine.Start(AsyncWaiter(
                          [&, token = token_](const PollContext& context,
                                              const PollCompletion<>&) {
                            on_stop.emplace(context.stop_token,
                                            [&] { wait = WaitHandle(); });
                          },
                          EverySecond()),
                      TakeHolding(), {.stop = stop_.get_token()});
  engine.RunDue();

  stop_.request_stop();
  engine.RunDue();

  EXPECT_FALSE(wait.pending());
  EXPECT_THAT(results_.reasons(), IsEmpty());
  EXPECT_EQ(held(), 0);
}

// The request awaits the poll, whose thread must not await the request.
TEST(StartWithStopTokenThreadsTest, RequestThatAwaitsThePollDoesNotHang) {
  for (int round = 0; round < 50; ++round) {
    waiter::stop_source stop;
    std::latch polling(1);
    std::latch told(1);
    WaitEngine engine;
    WaitHandle wait;
    std::optional<waiter::stop_callback<absl::AnyInvocable<void()>>> on_stop;
    wait = engine.Start(
        Waiter(
            [&](const PollContext& context) {
              on_stop.emplace(context.stop_token, [&] {
                told.count_down();
                // Awaits the end of this poll.
                wait = WaitHandle();
              });
              polling.count_down();
              told.wait();
              return false;
            },
            absl::Hours(1)),  // The result may come before ~WaitHandle.
        [](const WaitResult<>&) {}, {.stop = stop.get_token()});
    polling.wait();
    JoiningThread([&] { stop.request_stop(); }).join();
    EXPECT_FALSE(wait.pending());
  }
}

// A stop, the end of the wait, the destruction of its handle and the end of
// the engine meet in every order.
TEST(StartWithStopTokenThreadsTest, StopsRaceWithEveryOtherEnd) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    constexpr int kWaits = 100;
    std::atomic<int> called_back = 0;
    std::atomic<int> destroyed = 0;
    auto capture = std::make_shared<int>();
    {
      SplitMix64 gen(seed);
      std::optional<WaitEngine> engine;
      engine.emplace(
          WaitEngineOptions{.threads = 1 + static_cast<int>(seed % 2),
                            .tick = absl::ZeroDuration()});
      const auto policy =
          WaitPolicy::Make({.timeout = absl::Microseconds(300),
                            .backoff = Every(absl::Microseconds(20))});
      std::vector<waiter::stop_source> stops(kWaits);
      std::vector<WaitHandle> waits(kWaits);
      std::latch begun(3);
      JoiningThread stopper([&] {
        begun.arrive_and_wait();
        for (waiter::stop_source& stop : stops) stop.request_stop();
      });
      JoiningThread destroyer([&] {
        begun.arrive_and_wait();
        for (int i = 0; i < kWaits; i += 7) {
          stops[static_cast<size_t>(i)].request_stop();
        }
      });
      for (int i = 0; i < kWaits; ++i) {
        if (i == kWaits / 2) begun.arrive_and_wait();
        const auto place = static_cast<size_t>(i);
        const auto poll = [capture,
                           left = gen() % 8](const PollContext&) mutable {
          return left-- == 0;
        };
        const auto call_back = [capture, &called_back](const WaitResult<>&) {
          ++called_back;
        };
        waits[place] = engine->Start(Waiter(poll, policy), call_back,
                                     {.stop = stops[place].get_token()});
        if (gen() % 3 == 0) waits[place].Detach();
        if (gen() % 5 == 0 && waits[place].pending()) {
          waits[place] = WaitHandle();
          ++destroyed;
        }
      }
      if (gen() % 2 == 0) engine.reset();
      stopper.join();
      destroyer.join();
      engine.reset();
    }
    EXPECT_LE(called_back, kWaits);
    EXPECT_GE(called_back, kWaits - destroyed);
    EXPECT_EQ(capture.use_count(), 1);
  }
}

}  // namespace
}  // namespace waiter::start_with_stop_token_test
