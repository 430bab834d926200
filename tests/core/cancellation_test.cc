// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::cancellation_test {
namespace {

using ::absl::Hours;
using ::absl::Seconds;
using ::absl::StatusCode;
using ::absl::ZeroDuration;
using ::testing::ElementsAre;

constexpr BackoffOptions kEveryHour = Every(Hours(1));

TEST(CancellationTest, RequestBeforeTheStartPreventsEveryPoll) {
  SimulatedClock clock;
  waiter::stop_source stop;
  stop.request_stop();
  for (const absl::Duration timeout : {Hours(1), ZeroDuration(), -Hours(1)}) {
    ScriptedPoll<> script(clock, {PollStatus::kSuccess});
    Waiter wait(std::ref(script), {.timeout = timeout, .clock = &clock});

    const WaitResult<> result = wait.Wait(stop.get_token());

    EXPECT_EQ(result.reason(), StopReason::kCancelled);
    EXPECT_THAT(result.status(), StatusIs(StatusCode::kCancelled));
    EXPECT_THAT(script.polled_at(), ElementsAre());
  }
}

TEST(CancellationTest, InvalidOptionsWinOverARequest) {
  waiter::stop_source stop;
  stop.request_stop();
  Waiter wait([] { return true; }, {});

  EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kInvalidOptions);
}

TEST(CancellationTest, RequestEndsAnInfiniteWait) {
  SimulatedClock clock;
  waiter::stop_source stop;
  clock.CallAt(Hours(24 * 365), [&] { stop.request_stop(); });
  Waiter wait([] { return false; }, {.timeout = absl::InfiniteDuration(),
                                     .backoff = kEveryHour,
                                     .clock = &clock});

  const WaitResult<> result = wait.Wait(stop.get_token());
  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_EQ(result.report().attempts, 24 * 365);
}

TEST(CancellationTest, RequestEndsARealSleep) {
  waiter::stop_source stop;
  std::atomic<bool> polled = false;
  Waiter wait(
      [&] {
        polled = true;
        polled.notify_one();
        return false;
      },
      {.timeout = Hours(9), .backoff = kEveryHour});
  JoiningThread canceller([&] {
    polled.wait(false);
    stop.request_stop();
  });

  const WaitResult<> result = wait.Wait(stop.get_token());
  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_EQ(result.report().attempts, 1);
  EXPECT_LT(result.report().elapsed, Seconds(10));
}

TEST(CancellationTest, RequestTakesNoSimulatedTime) {
  SimulatedClock clock(SimulatedClock::Mode::kManual);
  waiter::stop_source stop;
  std::optional<WaitResult<>> result;
  JoiningThread waiting([&] {
    Waiter wait([] { return false; },
                {.timeout = Hours(9), .backoff = kEveryHour, .clock = &clock});
    result = wait.Wait(stop.get_token());
  });

  clock.AwaitSleepers(1);
  stop.request_stop();
  waiting.join();

  EXPECT_EQ(result->reason(), StopReason::kCancelled);
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
}

TEST(CancellationTest, StatusFunctionCanCutItsPollShort) {
  waiter::stop_source stop;
  Waiter wait(
      [&](const PollContext& context) {
        int called = 0;
        const waiter::stop_callback callback(context.stop_token,
                                             [&] { ++called; });
        stop.request_stop();
        EXPECT_EQ(called, 1);
        return false;
      },
      {.timeout = Hours(1)});

  EXPECT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
}

// Sweeps the moment of the request across the poll, the sleep and the gap
// between them. A lost request would leave the wait asleep for an hour.
TEST(CancellationTest, RequestIsNeverLostBetweenPollAndSleep) {
  constexpr int kWaits = 20'000;
  std::atomic<waiter::stop_source*> polled = nullptr;
  JoiningThread canceller([&] {
    for (int i = 0; i < kWaits; ++i) {
      waiter::stop_source* source = nullptr;
      while ((source = polled.exchange(nullptr)) == nullptr) {
        std::this_thread::yield();
      }
      for (std::atomic<int> spins = 0; spins < i % 200;) ++spins;
      source->request_stop();
    }
  });
  std::vector<waiter::stop_source> sources(kWaits);
  for (waiter::stop_source& source : sources) {
    Waiter wait(
        [&] {
          polled = &source;
          return false;
        },
        {.timeout = Hours(9), .backoff = kEveryHour});

    const WaitResult<> result = wait.Wait(source.get_token());
    ASSERT_EQ(result.reason(), StopReason::kCancelled);
    ASSERT_EQ(result.report().attempts, 1);
  }
}

// Polls as fast as it can, so that requests also meet sleeps about to end.
TEST(CancellationTest, RequestMayRaceWithTheEndOfASleep) {
  for (int i = 0; i < 2'000; ++i) {
    waiter::stop_source stop;
    std::atomic<int> polls = 0;
    JoiningThread canceller([&] {
      while (polls < 3) std::this_thread::yield();
      stop.request_stop();
    });
    Waiter wait(
        [&] {
          ++polls;
          return false;
        },
        {.timeout = Hours(9),
         .backoff = {.initial_delay = absl::Microseconds(1),
                     .max_delay = absl::Microseconds(20)}});

    ASSERT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
  }
}

TEST(CancellationTest, RequestsFromManyThreadsAreHarmless) {
  for (int i = 0; i < 200; ++i) {
    waiter::stop_source stop;
    std::atomic<bool> polled = false;
    std::vector<JoiningThread> cancellers;
    cancellers.reserve(4);
    for (int j = 0; j < 4; ++j) {
      cancellers.emplace_back([&] {
        polled.wait(false);
        stop.request_stop();
        stop.request_stop();
      });
    }
    Waiter wait(
        [&] {
          polled = true;
          polled.notify_all();
          return false;
        },
        {.timeout = Hours(9), .backoff = kEveryHour});

    ASSERT_EQ(wait.Wait(stop.get_token()).reason(), StopReason::kCancelled);
  }
}

TEST(CancellationTest, LateRequestsAreHarmless) {
  auto stop = std::make_unique<waiter::stop_source>();
  const waiter::stop_token token = stop->get_token();
  SimulatedClock clock;
  for (int i = 0; i < 1'000; ++i) {
    auto wait = std::make_unique<Waiter<ScriptedPoll<>>>(
        ScriptedPoll<>(clock, {PollStatus::kNotReady, PollStatus::kSuccess}),
        WaitOptions{.timeout = Hours(1), .clock = &clock});
    EXPECT_TRUE(wait->Wait(token).ok());
  }

  EXPECT_TRUE(stop->request_stop());
  stop.reset();
  EXPECT_TRUE(token.stop_requested());
}

TEST(CancellationTest, ExceptionLeavesNoListenerBehind) {
  waiter::stop_source stop;
  {
    SimulatedClock clock;
    Waiter wait(
        [](const PollContext& context) {
          if (context.attempt == 2) throw 0;
          return false;
        },
        {.timeout = Hours(1), .clock = &clock});
    EXPECT_THROW((void)wait.Wait(stop.get_token()), int);
  }

  EXPECT_TRUE(stop.request_stop());
}

TEST(CancellationTest, SourceMayDieBeforeItsWait) {
  SimulatedClock clock;
  auto stop = std::make_unique<waiter::stop_source>();
  Waiter wait(
      [&](const PollContext& context) {
        stop.reset();
        return context.attempt == 3;
      },
      {.timeout = Hours(1), .clock = &clock});

  EXPECT_TRUE(wait.Wait(stop->get_token()).ok());
}

TEST(CancellationTest, OneTokenEndsManyWaits) {
  constexpr int kThreads = 50;
  SimulatedClock clock(SimulatedClock::Mode::kManual);
  waiter::stop_source stop;
  std::atomic<int> cancelled = 0;
  std::vector<JoiningThread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        Waiter wait(
            [] { return false; },
            {.timeout = Hours(9), .backoff = kEveryHour, .clock = &clock});
        if (wait.Wait(stop.get_token()).reason() == StopReason::kCancelled) {
          ++cancelled;
        }
      }
    });
  }

  clock.AwaitSleepers(kThreads);
  stop.request_stop();
  threads.clear();

  EXPECT_EQ(cancelled, kThreads * 20);
  EXPECT_EQ(clock.Elapsed(), ZeroDuration());
}

}  // namespace
}  // namespace waiter::cancellation_test
