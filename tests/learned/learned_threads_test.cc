// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Many threads use one model and its learned delays.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::learned_threads_test {
namespace {

using ::testing::SizeIs;

TEST(LearnedThreadsTest, WaitsOfManyThreadsReadATableThatIsReplaced) {
  constexpr int kThreads = 4;
  constexpr int kWaits = 60;
  const auto model = std::make_shared<DurationModel>();
  const auto learned = LearnedDelays::Make(model);
  ASSERT_TRUE(learned.ok());
  std::atomic<int> succeeded = 0;
  {
    std::vector<JoiningThread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kWaits; ++i) {
          SimulatedClock clock;
          const absl::Duration end = absl::Seconds(20 + (i * 7 + thread) % 30);
          Waiter wait([&] { return clock.Elapsed() >= end; },
                      {.operation = "shared",
                       .timeout = absl::Minutes(5),
                       .delay_source = *learned,
                       .clock = &clock});
          if (wait.Wait().ok()) ++succeeded;
        }
      });
    }
  }
  EXPECT_EQ(succeeded, kThreads * kWaits);
  EXPECT_THAT(model->Durations("shared"), SizeIs(128));
}

TEST(LearnedThreadsTest, ModelIsReadSavedAndForgottenWhileItIsRecorded) {
  const auto model = std::make_shared<DurationModel>(
      DurationModelOptions{.max_operations = 3});
  const auto learned = LearnedDelays::Make(model);
  ASSERT_TRUE(learned.ok());
  {
    std::vector<JoiningThread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 300; ++i) {
          model->Record(
              absl::StrCat("operation ", (i + thread) % 5),
              {.after = absl::Seconds(i), .by = absl::Seconds(i + 1)});
        }
      });
    }
    threads.emplace_back([&] {
      DurationModel other;
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(other.Merge(model->ToText()), absl::OkStatus());
        (void)(*learned)->Schedule("operation 1");
        model->SetRecorder([](auto, const auto&) {});
        (void)model->Operations();
      }
    });
  }
  EXPECT_THAT(model->Operations(), SizeIs(3));
  EXPECT_GT(model->forgotten_operations(), 0);
}

TEST(LearnedThreadsTest, EngineLearnsAndDelaysMayBeDestroyedBeforeItsWaits) {
  constexpr int kWaits = 200;
  SimulatedClock clock;
  const auto model = std::make_shared<DurationModel>();
  auto learned = LearnedDelays::Make(model);
  ASSERT_TRUE(learned.ok());
  WaitEngine engine({.threads = 0, .clock = &clock});
  int succeeded = 0;
  const auto policy = WaitPolicy::Make({.operation = "engine",
                                        .timeout = absl::Minutes(5),
                                        .delay_source = *learned,
                                        .clock = &clock});
  for (int i = 0; i < kWaits; ++i) {
    const absl::Duration end = absl::Seconds(30 + i % 20);
    engine
        .Start(Waiter([&clock, end] { return clock.Elapsed() >= end; }, policy),
               [&](const WaitResult<>& result) {
                 if (result.ok()) ++succeeded;
               })
        .Detach();
  }
  learned->reset();
  engine.Run();
  EXPECT_EQ(succeeded, kWaits);
  EXPECT_THAT(model->Durations("engine"), SizeIs(128));
}

}  // namespace
}  // namespace waiter::learned_threads_test
