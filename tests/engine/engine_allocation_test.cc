// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Allocations of an engine: almost none per wait, none per poll, and none once
// it has held its largest number of waits.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/counted_new.h"
#include "tests/support/engine_fixture.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::absl::Hours;
using ::absl::Milliseconds;
using ::absl::Seconds;

class EngineAllocationTest : public testing::TestWithParam<ReportLevel> {
 protected:
  WaitEngineOptions Options() {
    return {.threads = 0, .report = GetParam(), .clock = &clock_};
  }
  std::shared_ptr<const WaitPolicy> Policy(absl::Duration delay) {
    return WaitPolicy::Make({.timeout = absl::InfiniteDuration(),
                             .backoff = Every(delay),
                             .clock = &clock_});
  }
  // Starts a wait with the largest captures that need no allocation.
  template <typename Answer>
  WaitHandle Start(WaitEngine& engine,
                   const std::shared_ptr<const WaitPolicy>& policy,
                   Answer answer) {
    return engine.Start(Waiter(
                            [this, answer] {
                              ++polls_;
                              return answer(polls_);
                            },
                            policy),
                        [this, unused = int64_t{0}](const WaitResult<>&) {
                          (void)unused;
                          ++called_back_;
                        });
  }
  // Advances the time in small steps, without allocating.
  void RunFor(WaitEngine& engine, absl::Duration time) {
    for (const absl::Duration end = clock_.Elapsed() + time;
         clock_.Elapsed() < end;) {
      engine.RunDue();
      clock_.AdvanceTime(Milliseconds(5));
    }
  }

  SimulatedClock clock_;
  int64_t polls_ = 0;
  int64_t called_back_ = 0;
};

TEST_P(EngineAllocationTest, AllocationsAreCounted) {
  const int64_t before = AllocationCount();
  const WaitEngine engine(Options());
  EXPECT_GT(AllocationCount(), before);
}

TEST_P(EngineAllocationTest, PollsWithoutDelayAllocateNothing) {
  const auto allocations_of = [this](int64_t polls) {
    WaitEngine engine(Options());
    polls_ = 0;
    const WaitHandle wait =
        Start(engine, Policy(absl::ZeroDuration()),
              [polls](int64_t polled) { return polled == polls; });
    const int64_t before = AllocationCount();
    engine.Run();
    EXPECT_EQ(polls_, polls);
    return AllocationCount() - before;
  };

  EXPECT_EQ(allocations_of(1'000'000), allocations_of(1'000));
}

// Runs a thousand waits, each at its own pace, so that every part of the wheel
// is used. After some time the wheel holds all the memory it will ever need.
TEST_P(EngineAllocationTest, PollsWithDelaysAllocateNothing) {
  WaitEngine engine(Options());
  std::vector<WaitHandle> waits;
  waits.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    waits.push_back(Start(engine, Policy(Milliseconds(20 + 13 * i)),
                          [](int64_t) { return false; }));
  }
  RunFor(engine, Seconds(60));
  const int64_t before = AllocationCount();
  const int64_t polls_before = polls_;
  RunFor(engine, Seconds(60));

  EXPECT_EQ(AllocationCount(), before);
  EXPECT_GT(polls_ - polls_before, 10'000);
}

TEST_P(EngineAllocationTest, WaitsAllocateAlmostNothing) {
  constexpr int kWaits = 100'000;
  WaitEngine engine(Options());
  const auto policy = Policy(Hours(1));
  std::vector<WaitHandle> waits;
  waits.reserve(kWaits);
  const int64_t before = AllocationCount();
  for (int i = 0; i < kWaits; ++i) {
    waits.push_back(Start(engine, policy, [](int64_t) { return false; }));
  }
  engine.RunDue();

  EXPECT_EQ(polls_, kWaits);
  EXPECT_LE(AllocationCount() - before, kWaits / 50);
}

TEST_P(EngineAllocationTest, StartsAndEndsStopGrowing) {
  constexpr int kWaits = 5'000;
  WaitEngine engine(Options());
  const auto policy = Policy(Hours(1));
  std::vector<WaitHandle> waits;
  waits.reserve(kWaits);
  const auto round = [&](bool cancels, bool polls, bool succeeds = false) {
    for (int i = 0; i < kWaits; ++i) {
      waits.push_back(
          Start(engine, policy, [succeeds](int64_t) { return succeeds; }));
    }
    if (polls) engine.RunDue();
    if (cancels) {
      for (WaitHandle& wait : waits) wait.Cancel();
      engine.RunDue();
    }
    waits.clear();
    engine.RunDue();
    clock_.AdvanceTime(Milliseconds(1));
  };
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      for (const bool cancels : {false, true}) {
        for (const bool polls : {false, true}) round(cancels, polls);
      }
      round(/*cancels=*/false, /*polls=*/true, /*succeeds=*/true);
    }
  };
  rounds(3);
  const int64_t before = LiveAllocationCount();
  rounds(10);

  EXPECT_LE(LiveAllocationCount(), before);
  EXPECT_EQ(called_back_, int64_t{3} * 13 * kWaits);
}

TEST_P(EngineAllocationTest, StartAndDestroyAllocateNothing) {
  constexpr int kWaits = 5'000;
  WaitEngine engine(Options());
  const auto policy = Policy(Hours(1));
  std::vector<WaitHandle> waits;
  waits.reserve(kWaits);
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      for (int i = 0; i < kWaits; ++i) {
        waits.push_back(Start(engine, policy, [](int64_t) { return false; }));
      }
      engine.RunDue();
      waits.clear();
      engine.RunDue();
      clock_.AdvanceTime(Milliseconds(1));
    }
  };
  rounds(10);
  const int64_t before = AllocationCount();
  rounds(20);

  EXPECT_LE(AllocationCount() - before, 20);
  EXPECT_EQ(called_back_, 0);
}

// An answer is allocated, and freed as soon as it is delivered.
TEST_P(EngineAllocationTest, CompletionsAllocateTheirAnswer) {
  constexpr int64_t kPolls = 100'000;
  WaitEngine engine(Options());
  const WaitHandle wait = engine.Start(
      AsyncWaiter([this](PollCompletion<> done) { done(++polls_ == kPolls); },
                  Policy(absl::ZeroDuration())),
      [](const WaitResult<>&) {});
  const int64_t before = AllocationCount();
  engine.Run();

  EXPECT_LE(AllocationCount() - before, kPolls + 100);
}

INSTANTIATE_TEST_SUITE_P(Levels, EngineAllocationTest,
                         testing::Values(ReportLevel::kLean,
                                         ReportLevel::kFull),
                         [](const testing::TestParamInfo<ReportLevel>& test) {
                           return test.param == ReportLevel::kLean ? "Brief"
                                                                   : "Full";
                         });

}  // namespace
}  // namespace waiter
