// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/virtual_clock.h"

#include <chrono>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter::sim::virtual_clock_test {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(VirtualClockTest, CallsAreMadeAtTheirTimesInTheirOrder) {
  VirtualClock clock;
  const MonotonicTime start = clock.MonotonicNow();
  std::vector<int> calls;
  const auto add = [&](int second, int call) {
    clock.CallAt(start + seconds(second), [&clock, &calls, second, call] {
      EXPECT_EQ(clock.Elapsed(), absl::Seconds(second));
      calls.push_back(call);
    });
  };
  add(3, 4);
  add(1, 1);
  add(2, 2);
  add(2, 3);
  add(9, 5);
  clock.Advance(absl::Seconds(5));

  EXPECT_THAT(calls, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(clock.Elapsed(), absl::Seconds(5));
  EXPECT_EQ(clock.TimeNow(), absl::UnixEpoch() + absl::Seconds(5));
}

TEST(VirtualClockTest, CallMayAddCalls) {
  VirtualClock clock;
  int calls = 0;
  const auto call_at = VirtualClock::CallAtOf(clock);
  const std::function<void()> again = [&] {
    ++calls;
    call_at(clock.MonotonicNow() + seconds(1), again);
  };
  again();
  clock.SleepUntil(clock.MonotonicNow() + seconds(10), waiter::stop_token(),
                   "test");
  EXPECT_EQ(calls, 11);
}

TEST(VirtualClockTest, TimeThatHasPassedIsNow) {
  VirtualClock clock;
  const MonotonicTime start = clock.MonotonicNow();
  clock.Advance(absl::Seconds(5));
  bool called = false;
  clock.CallAt(start, [&] { called = true; });
  EXPECT_FALSE(called);
  clock.Advance(absl::ZeroDuration());
  EXPECT_TRUE(called);
  EXPECT_EQ(clock.Elapsed(), absl::Seconds(5));
}

}  // namespace
}  // namespace waiter::sim::virtual_clock_test
