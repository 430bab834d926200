// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Only this test and stepped_clocks_test.cc really sleep. Loaded machines are
// slow, so the only upper bound on a sleep is many seconds.

#include <atomic>
#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter::real_clock_test {
namespace {

using ::std::chrono::hours;
using ::std::chrono::microseconds;
using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::std::chrono::seconds;
using ::std::chrono::steady_clock;

constexpr seconds kPrompt(10);

TEST(RealClockTest, RealClockIsASingleton) {
  EXPECT_EQ(&GetRealClock(), &GetRealClock());
}

TEST(RealClockTest, RealClockReadsTheSystemClocks) {
  Clock& clock = GetRealClock();
  const absl::Time wall = absl::Now();
  const MonotonicTime before = steady_clock::now();
  const MonotonicTime monotonic = clock.MonotonicNow();

  EXPECT_LT(absl::AbsDuration(clock.TimeNow() - wall), absl::Minutes(1));
  EXPECT_LE(before, monotonic);
  EXPECT_LE(monotonic, steady_clock::now());
}

using SleepTest = testing::TestWithParam<Clock*>;

INSTANTIATE_TEST_SUITE_P(, SleepTest,
                         testing::Values(&GetRealClock(), &GetBootTimeClock()),
                         [](const auto& clock) {
                           return clock.param == &GetRealClock() ? "RealClock"
                                                                 : "BootTime";
                         });

TEST_P(SleepTest, SleepNeverEndsEarly) {
  Clock& clock = *GetParam();
  for (const nanoseconds delay :
       {nanoseconds(1), nanoseconds(microseconds(50)),
        nanoseconds(milliseconds(1)), nanoseconds(milliseconds(5))}) {
    for (int i = 0; i < 5; ++i) {
      waiter::stop_source stop;
      const MonotonicTime wake_up = clock.MonotonicNow() + delay;
      clock.SleepUntil(wake_up,
                       i % 2 == 0 ? stop.get_token() : waiter::stop_token(),
                       "test");
      EXPECT_GE(clock.MonotonicNow(), wake_up);
    }
  }
}

TEST_P(SleepTest, SleepUntilAPastTimeReturnsAtOnce) {
  Clock& clock = *GetParam();
  const MonotonicTime start = clock.MonotonicNow();

  clock.SleepUntil(start, {}, "test");
  clock.SleepUntil(start - hours(1), {}, "test");
  clock.SleepUntil(MonotonicTime::min(), {}, "test");
  clock.SleepUntil(MonotonicTime(), {}, "test");
  EXPECT_LT(clock.MonotonicNow() - start, kPrompt);
}

TEST_P(SleepTest, StopBeforeASleepSkipsIt) {
  Clock& clock = *GetParam();
  waiter::stop_source stop;
  stop.request_stop();
  const MonotonicTime start = clock.MonotonicNow();

  clock.SleepUntil(start + hours(1), stop.get_token(), "test");
  clock.SleepUntil(MonotonicTime::max(), stop.get_token(), "test");
  EXPECT_LT(clock.MonotonicNow() - start, kPrompt);
}

TEST_P(SleepTest, StopEndsASleepThatWouldNeverEnd) {
  Clock& clock = *GetParam();
  for (int i = 0; i < 100; ++i) {
    waiter::stop_source stop;
    const MonotonicTime start = clock.MonotonicNow();
    JoiningThread canceller([&] { stop.request_stop(); });

    clock.SleepUntil(MonotonicTime::max(), stop.get_token(), "test");
    ASSERT_TRUE(stop.stop_requested());
    ASSERT_LT(clock.MonotonicNow() - start, kPrompt);
  }
}

TEST(RealClockTest, ReadingIsExactFromItsLimitOn) {
  Clock& clock = GetRealClock();
  for (int i = 0; i < 1'000; ++i) {
    const MonotonicTime before = clock.MonotonicNow();
    // This limit has passed, so the clock is read exactly.
    EXPECT_GE(clock.MonotonicNowBefore(before), before);
    EXPECT_GE(clock.MonotonicNowBefore(MonotonicTime::min()), before);
    // This limit passes during the reading.
    const MonotonicTime limit = before + nanoseconds(20 * i);
    const MonotonicTime read = clock.MonotonicNowBefore(limit);
    const MonotonicTime after = clock.MonotonicNow();
    EXPECT_LE(read, after);
    if (before >= limit) {
      EXPECT_GE(read, limit);
    }
  }
}

TEST(RealClockTest, ReadingBeforeAFarLimitIsAFewMillisecondsOld) {
  Clock& clock = GetRealClock();
  for (const MonotonicTime limit :
       {MonotonicTime::max(), clock.MonotonicNow() + hours(1),
        clock.MonotonicNow() + milliseconds(15)}) {
    const MonotonicTime before = clock.MonotonicNow();
    const MonotonicTime read = clock.MonotonicNowBefore(limit);
    EXPECT_GE(read, before - milliseconds(20));
    EXPECT_LE(read, clock.MonotonicNow());
  }
}

TEST(RealClockTest, ThreadsSleepIndependently) {
  Clock& clock = GetRealClock();
  std::atomic<int> early = 0;
  RunThreads(/*count=*/8, [&](int thread) {
    const MonotonicTime wake_up =
        clock.MonotonicNow() + microseconds(500 * (thread + 1));
    clock.SleepUntil(wake_up, {}, "test");
    if (clock.MonotonicNow() < wake_up) ++early;
  });
  EXPECT_EQ(early, 0);
}

TEST(RealClockTest, ElapsedTimeOfAWaitIsNeverNegative) {
  // The start of a wait is read exactly, its end from the coarse clock.
  Waiter wait([] { return true; }, {.timeout = absl::Minutes(1)});

  for (int i = 0; i < 1000; ++i) {
    ASSERT_GE(wait.Wait().report().elapsed, absl::ZeroDuration());
  }
}

TEST(SaturatingAddTest, SumStopsAtTheEndOfTime) {
  constexpr MonotonicTime zero;
  static_assert(SaturatingAdd(zero, nanoseconds(1)) == zero + nanoseconds(1));
  static_assert(SaturatingAdd(zero, nanoseconds::max()) ==
                MonotonicTime::max());
  static_assert(SaturatingAdd(zero + nanoseconds(1), nanoseconds::max()) ==
                MonotonicTime::max());
  static_assert(SaturatingAdd(MonotonicTime::max(), nanoseconds(1)) ==
                MonotonicTime::max());
  static_assert(SaturatingAdd(MonotonicTime::max(), nanoseconds(0)) ==
                MonotonicTime::max());
}

}  // namespace
}  // namespace waiter::real_clock_test
