// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::engine_statistics_test {
namespace {

int64_t Rounds(const EngineStatistics& statistics) {
  return std::accumulate(statistics.late_rounds.begin(),
                         statistics.late_rounds.end(), int64_t{0});
}

using EngineStatisticsTest = EngineFixture;

TEST_F(EngineStatisticsTest, EngineWithoutWaitsHasZeros) {
  const WaitEngine engine(Simulated());
  const EngineStatistics now = engine.statistics();
  EXPECT_EQ(now.pending, 0);
  EXPECT_EQ(now.due, 0);
  EXPECT_EQ(now.polls, 0);
  EXPECT_EQ(now.lateness, absl::ZeroDuration());
  EXPECT_EQ(Rounds(now), 0);
  const WaitEngine invalid({.threads = -1});
  EXPECT_EQ(invalid.statistics().pending, 0);
}

TEST_F(EngineStatisticsTest, PendingAndPollsCountWaitsAndPolls) {
  WaitEngine engine(Simulated());
  std::vector<WaitHandle> handles;
  for (int i = 0; i < 10; ++i) {
    handles.push_back(engine.Start(NeverReady(), TakeHolding()));
  }
  engine.RunDue();
  EXPECT_EQ(engine.statistics().pending, 10);
  EXPECT_EQ(engine.statistics().polls, 10);
  clock_.AdvanceTime(absl::Seconds(1));
  engine.RunDue();
  EXPECT_EQ(engine.statistics().due, 10);
  EXPECT_EQ(engine.statistics().polls, 20);
  handles.resize(7);
  handles[0].Cancel();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().pending, 6);
  engine.Run();
  EXPECT_EQ(engine.statistics().pending, 0);
  EXPECT_EQ(engine.statistics().polls, polls_);
}

TEST_F(EngineStatisticsTest, LatenessIsInTheFirstBucketThatHoldsIt) {
  constexpr auto& kBounds = EngineStatistics::kLatenessBounds;
  std::vector<std::pair<absl::Duration, size_t>> cases = {
      {absl::ZeroDuration(), 0}, {absl::Hours(24 * 365 * 20), kBounds.size()}};
  for (size_t i = 0; i < kBounds.size(); ++i) {
    const absl::Duration bound =
        absl::Nanoseconds(static_cast<int64_t>(kBounds[i] * 1e9 + 0.5));
    cases.emplace_back(bound - absl::Nanoseconds(1), i);
    cases.emplace_back(bound, i);
    cases.emplace_back(bound + absl::Nanoseconds(1), i + 1);
  }
  for (const auto& [late, bucket] : cases) {
    SCOPED_TRACE(absl::FormatDuration(late));
    WaitEngine engine(Simulated());
    const WaitHandle handle = engine.Start(
        Waiter([] { return false; }, EverySecond(absl::InfiniteDuration())),
        results_.Take());
    engine.RunDue();
    EXPECT_EQ(Rounds(engine.statistics()), 0);
    clock_.AdvanceTime(absl::Seconds(1) + late);
    engine.RunDue();
    const EngineStatistics now = engine.statistics();
    EXPECT_EQ(now.lateness, late);
    EXPECT_EQ(Rounds(now), 1);
    EXPECT_EQ(now.late_rounds.at(bucket), 1);
  }
}

TEST_F(EngineStatisticsTest, FunctionSeesItsOwnPollCounted) {
  WaitEngine engine(Simulated());
  const auto expect_one = [&] {
    EXPECT_EQ(engine.statistics().polls, 1);
    return true;
  };
  engine
      .Start(Waiter(
                 [&] {
                   EXPECT_EQ(engine.statistics().pending, 1);
                   return expect_one();
                 },
                 EverySecond()),
             [&](const WaitResult<>&) { expect_one(); })
      .Detach();
  engine.Run();
  EXPECT_EQ(engine.statistics().pending, 0);
}

TEST_F(EngineStatisticsTest, PollsWithoutAnAnswerYetCount) {
  WaitEngine engine(Queued());
  engine
      .Start(AsyncWaiter([](const PollCompletion<>&) {}, EverySecond()),
             results_.Take())
      .Detach();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().polls, 1);
  engine.Start(Ready(), results_.Take()).Detach();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().polls, 2);
  RunTasks();
  engine.RunDue();
  EXPECT_EQ(engine.statistics().polls, 2);
  EXPECT_EQ(engine.statistics().pending, 1);
}

TEST(EngineStatisticsThreadsTest, ReadingsOfARunningEngineNeverDecrease) {
  constexpr int kWaits = 500;
  std::atomic<int64_t> polls = 0;
  std::atomic<int> ended = 0;
  std::atomic<bool> done = false;
  WaitEngine engine({.threads = 3});
  std::vector<JoiningThread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      EngineStatistics last;
      while (!done) {
        const EngineStatistics now = engine.statistics();
        EXPECT_GE(now.polls, last.polls);
        EXPECT_GE(now.lateness, last.lateness);
        EXPECT_GE(now.pending, 0);
        EXPECT_GE(now.due, 0);
        for (size_t j = 0; j < now.late_rounds.size(); ++j) {
          EXPECT_GE(now.late_rounds.at(j), last.late_rounds.at(j));
        }
        last = now;
      }
    });
  }
  for (int i = 0; i < kWaits; ++i) {
    engine
        .Start(Waiter(
                   [&, n = 0]() mutable {
                     ++polls;
                     return ++n == 5;
                   },
                   {.timeout = absl::Hours(1),
                    .backoff = Every(absl::Milliseconds(1))}),
               [&](const WaitResult<>&) { ++ended; })
        .Detach();
  }
  while (ended < kWaits) std::this_thread::yield();
  // The engine may remove the last wait after its callback.
  while (engine.statistics().pending > 0) std::this_thread::yield();
  done = true;
  readers.clear();
  EXPECT_EQ(engine.statistics().polls, polls);
}

}  // namespace
}  // namespace waiter::engine_statistics_test
