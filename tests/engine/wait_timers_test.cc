// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/wait_timers.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/record_pool.h"

namespace waiter::internal::wait_timers_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MonotonicTime kStart{hours(1000)};
constexpr milliseconds kTick{1};

class WaitTimersTest : public testing::Test {
 protected:
  EngineRecord& NewWait() { return pool_.Take(); }

  // Returns the indexes of the waits whose timers count and are due at `now`.
  // Stores how many timers were due, stale ones included.
  std::vector<uint32_t> TakeDue(WaitTimers& timers, MonotonicTime now) {
    std::vector<WaitTimers::Timer> due;
    timers.TakeDue(now, due);
    taken_ = due.size();
    std::vector<uint32_t> indexes;
    for (const WaitTimers::Timer timer : due) {
      if (WaitTimers::Counts(pool_[timer.index], timer)) {
        indexes.push_back(timer.index);
      }
    }
    return indexes;
  }

  RecordPool pool_{/*full=*/false};
  size_t taken_ = 0;
};

TEST_F(WaitTimersTest, TimerIsDueAtItsTimeAndNotBefore) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
  EngineRecord& wait = NewWait();
  const MonotonicTime due = kStart + milliseconds(65);

  timers.Set(wait, kStart, due, /*latest=*/kStart + hours(1));

  EXPECT_TRUE(wait.has_timer);
  EXPECT_EQ(timers.NextWakeUp(), kStart + milliseconds(64));
  EXPECT_THAT(TakeDue(timers, due - nanoseconds(1)), IsEmpty());
  EXPECT_EQ(timers.NextWakeUp(), due);
  EXPECT_FALSE(timers.HasDue(due - nanoseconds(1)));
  EXPECT_TRUE(timers.HasDue(due));
  EXPECT_THAT(TakeDue(timers, due), ElementsAre(wait.index));
}

TEST_F(WaitTimersTest, WaitWithoutAWakeUpHasNoTimer) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0.5, pool_);
  EngineRecord& wait = NewWait();

  timers.Set(wait, kStart, MonotonicTime::max(), MonotonicTime::max());

  EXPECT_FALSE(wait.has_timer);
  EXPECT_EQ(timers.NextWakeUp(), MonotonicTime::max());
}

TEST_F(WaitTimersTest, ClearedTimerNeitherCountsNorWakes) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
  EngineRecord& wait = NewWait();
  const MonotonicTime due = kStart + milliseconds(5);
  timers.Set(wait, kStart, due, due);

  timers.Clear(wait);

  EXPECT_FALSE(wait.has_timer);
  EXPECT_EQ(timers.NextWakeUp(), MonotonicTime::max());
  EXPECT_THAT(TakeDue(timers, due), IsEmpty());
  EXPECT_EQ(taken_, 1);
}

TEST_F(WaitTimersTest, TimeOfAWaitIsThatOfItsTimer) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
  EngineRecord& wait = NewWait();
  EXPECT_EQ(timers.TimeOf(wait, kStart), MonotonicTime::max());
  const MonotonicTime due = kStart + milliseconds(5);
  timers.Set(wait, kStart, due, due);

  EXPECT_EQ(timers.TimeOf(wait, kStart), due);
  timers.Clear(wait);
  EXPECT_EQ(timers.TimeOf(wait, kStart), MonotonicTime::max());
}

// Clearing a wait that has no timer, as the second call does, must not reduce
// the count of the other wait's timers.
TEST_F(WaitTimersTest, ClearCountsATimerOnce) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
  EngineRecord& cleared = NewWait();
  EngineRecord& kept = NewWait();
  const MonotonicTime due = kStart + milliseconds(5);
  timers.Set(cleared, kStart, due, due);
  timers.Set(kept, kStart, due, due);

  timers.Clear(cleared);
  timers.Clear(cleared);

  EXPECT_EQ(timers.NextWakeUp(), due);
  EXPECT_THAT(TakeDue(timers, due), ElementsAre(kept.index));
}

TEST_F(WaitTimersTest, OnlyTheLastTimerOfAWaitCounts) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
  EngineRecord& wait = NewWait();
  const MonotonicTime first = kStart + milliseconds(5);
  const MonotonicTime second = kStart + milliseconds(9);
  timers.Set(wait, kStart, first, first);
  timers.Clear(wait);
  timers.Set(wait, kStart, second, second);

  EXPECT_THAT(TakeDue(timers, first), IsEmpty());
  EXPECT_THAT(TakeDue(timers, second), ElementsAre(wait.index));
}

// Half of 130 ms is 65 ms: the timer moves to the next multiple of 64 ms.
TEST_F(WaitTimersTest, SlackIsAShareOfTheDelay) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0.5, pool_);
  EngineRecord& wait = NewWait();
  timers.Set(wait, kStart, kStart + milliseconds(130), kStart + hours(1));

  EXPECT_THAT(TakeDue(timers, kStart + milliseconds(191)), IsEmpty());
  EXPECT_THAT(TakeDue(timers, kStart + milliseconds(192)),
              ElementsAre(wait.index));
}

// The delay counts from now, which is an hour after the start of the timers.
TEST_F(WaitTimersTest, SlackIsAShareOfTheDelayFromNow) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/1, pool_);
  EngineRecord& wait = NewWait();
  const MonotonicTime now = kStart + hours(1);
  EXPECT_THAT(TakeDue(timers, now), IsEmpty());
  timers.Set(wait, now, now + milliseconds(3), now + hours(1));

  // 3'600'003 ticks, rounded up to a multiple of 2.
  EXPECT_THAT(TakeDue(timers, now + milliseconds(3)), IsEmpty());
  EXPECT_THAT(TakeDue(timers, now + milliseconds(4)), ElementsAre(wait.index));
}

// 10 ms are left until the latest time, so the timer moves by less than 10 ms:
// to the next multiple of 8 ms.
TEST_F(WaitTimersTest, SlackEndsAtTheLatestTime) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/1, pool_);
  EngineRecord& wait = NewWait();
  const MonotonicTime due = kStart + milliseconds(99);
  timers.Set(wait, kStart, due, /*latest=*/due + milliseconds(10));

  EXPECT_THAT(TakeDue(timers, kStart + milliseconds(103)), IsEmpty());
  EXPECT_THAT(TakeDue(timers, kStart + milliseconds(104)),
              ElementsAre(wait.index));
}

TEST_F(WaitTimersTest, TimerThatIsAlreadyTheLatestHasNoSlack) {
  for (const milliseconds past : {milliseconds(0), milliseconds(10)}) {
    WaitTimers timers(kStart, kTick, /*relative_slack=*/1, pool_);
    EngineRecord& wait = NewWait();
    const MonotonicTime due = kStart + milliseconds(99);
    timers.Set(wait, kStart, due, /*latest=*/due - past);

    EXPECT_THAT(TakeDue(timers, due), ElementsAre(wait.index));
  }
}

// Waits that are repeatedly set and cleared leave stale timers at an hour from
// now. Living waits also have timers at that hour.
class StaleTimersTest : public WaitTimersTest {
 protected:
  void SetAndClear(WaitTimers& timers, int count) {
    EngineRecord& wait = NewWait();
    for (int i = 0; i < count; ++i) {
      timers.Set(wait, kStart, kLater, kLater);
      timers.Clear(wait);
    }
  }
  void SetLiving(WaitTimers& timers, int count) {
    for (int i = 0; i < count; ++i) {
      timers.Set(NewWait(), kStart, kLater, kLater);
    }
  }

  static constexpr MonotonicTime kLater = kStart + hours(1);
};

TEST_F(StaleTimersTest, AreAtMostAsManyAsThoseThatCountAndSome) {
  for (const size_t living : {size_t{0}, size_t{10}, size_t{5000}}) {
    SCOPED_TRACE(living);
    WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
    SetLiving(timers, static_cast<int>(living));
    SetAndClear(timers, 20'000);

    EXPECT_EQ(TakeDue(timers, kLater).size(), living);
    EXPECT_LE(taken_, 2 * living + 1024 + 8);
  }
}

// A sweep visits all timers, so it pays only when half of them are stale.
TEST_F(StaleTimersTest, AreKeptWhileMostTimersCount) {
  WaitTimers timers(kStart, kTick, /*relative_slack=*/0, pool_);
  SetLiving(timers, 5000);
  SetAndClear(timers, 5900);

  EXPECT_EQ(TakeDue(timers, kLater).size(), 5000);
  EXPECT_EQ(taken_, 10'900);
}

}  // namespace
}  // namespace waiter::internal::wait_timers_test
