// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Ends waits while there is no memory for the request.

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/failing_new.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EngineMemoryTest : public EngineFixture {
 protected:
  template <typename Action>
  static void WithoutMemory(Action action) {
    const FailingNew fails(1, FailingNew::Mode::kFromThen);
    action();
  }
};

TEST_F(EngineMemoryTest, CancelEndsAWait) {
  WaitEngine engine(Simulated());
  WaitHandle wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();

  WithoutMemory([&] { wait.Cancel(); });

  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_THAT(results_.reasons(), ElementsAre(StopReason::kCancelled));
}

TEST_F(EngineMemoryTest, DestroyedHandleFreesItsWait) {
  WaitEngine engine(Simulated());
  std::optional<WaitHandle> wait = engine.Start(NeverReady(), TakeHolding());
  engine.RunDue();

  WithoutMemory([&] { wait.reset(); });

  EXPECT_EQ(held(), 0);
  EXPECT_EQ(engine.RunDue(), MonotonicTime::max());
  EXPECT_THAT(results_.reasons(), IsEmpty());
}

// The second of four waits is cancelled and the third destroyed; the others are
// polled once per second, for 10 s.
TEST_F(EngineMemoryTest, OtherWaitsGoOn) {
  WaitEngine engine(Simulated());
  int polls = 0;
  const auto start = [&](int* count) {
    return engine.Start(Waiter(
                            [count] {
                              ++*count;
                              return false;
                            },
                            EverySecond(absl::Seconds(10))),
                        results_.Take());
  };
  const WaitHandle first = start(&polls);
  WaitHandle cancelled = start(&polls_);
  std::optional<WaitHandle> destroyed = start(&polls_);
  const WaitHandle last = start(&polls);
  engine.RunDue();

  WithoutMemory([&] {
    cancelled.Cancel();
    destroyed.reset();
  });
  engine.Run();

  EXPECT_EQ(polls, 2 * 11);
  EXPECT_EQ(polls_, 2);
  EXPECT_THAT(results_.reasons(),
              ElementsAre(StopReason::kCancelled, StopReason::kDeadline,
                          StopReason::kDeadline));
}

}  // namespace
}  // namespace waiter
