// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/poll_clock.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter::internal::poll_clock_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;

constexpr MonotonicTime kStart{std::chrono::hours(1000)};

// A clock that does not advance, and counts exact readings. Its cheap reading
// is set separately.
class CountedClock : public Clock {
 public:
  absl::Time TimeNow() override { return absl::UnixEpoch(); }
  MonotonicTime MonotonicNow() override {
    ++readings_;
    return now_;
  }
  MonotonicTime MonotonicNowBefore(MonotonicTime /*limit*/) override {
    return coarse_now_;
  }
  void SleepUntil(MonotonicTime /*wake_up*/, const waiter::stop_token& /*stop*/,
                  std::string_view /*who*/) override {}

  MonotonicTime now_ = kStart;
  MonotonicTime coarse_now_ = kStart;
  int readings_ = 0;
};

class PollClockTest : public testing::Test {
 protected:
  PollClockTest() { poll_clock_.BeginRound(); }

  // Polls, each in `took`, until the clock is read. Returns the number of
  // polls.
  int PollUntilReading(nanoseconds took) {
    const int before = clock_.readings_;
    int polls = 0;
    while (clock_.readings_ == before) {
      ++polls;
      clock_.now_ += took;
      const MonotonicTime end = poll_clock_.EndOfPoll(/*exact=*/false);
      EXPECT_EQ(end, poll_clock_.now());
      EXPECT_EQ(poll_clock_.is_shared(), clock_.readings_ == before);
    }
    EXPECT_EQ(poll_clock_.now(), clock_.now_);
    return polls;
  }
  // Returns the number of polls for each of 6 readings.
  std::vector<int> PollsOfReadings(nanoseconds took) {
    std::vector<int> polls;
    for (int i = 0; i < 6; ++i) polls.push_back(PollUntilReading(took));
    return polls;
  }

  CountedClock clock_;
  PollClock poll_clock_{clock_};
};

TEST_F(PollClockTest, RoundBeginsWithAReading) {
  EXPECT_EQ(clock_.readings_, 1);
  EXPECT_EQ(poll_clock_.now(), kStart);
  EXPECT_FALSE(poll_clock_.is_shared());
}

TEST_F(PollClockTest, QuickPollsShareReadingsMoreAndMore) {
  EXPECT_THAT(PollsOfReadings(nanoseconds(900)),
              ElementsAre(1, 2, 4, 8, 16, 16));
}

TEST_F(PollClockTest, SlowPollsShareNoReading) {
  EXPECT_THAT(PollsOfReadings(nanoseconds(1001)),
              ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST_F(PollClockTest, SlowPollEndsTheSharing) {
  PollsOfReadings(nanoseconds(0));
  clock_.now_ += microseconds(17);
  EXPECT_EQ(PollUntilReading(nanoseconds(0)), 16);

  EXPECT_THAT(PollsOfReadings(nanoseconds(0)), ElementsAre(1, 2, 4, 8, 16, 16));
}

TEST_F(PollClockTest, TickOfTheCoarseClockEndsTheSharing) {
  PollsOfReadings(nanoseconds(0));
  poll_clock_.EndOfPoll(/*exact=*/false);
  EXPECT_TRUE(poll_clock_.is_shared());
  clock_.now_ = clock_.coarse_now_ = kStart + milliseconds(4);

  EXPECT_EQ(poll_clock_.EndOfPoll(/*exact=*/false), kStart + milliseconds(4));
  EXPECT_FALSE(poll_clock_.is_shared());
}

// The coarse clock may be as late as the exact one, to the nanosecond.
TEST_F(PollClockTest, CoarseReadingEqualToTheLastOneIsShared) {
  PollsOfReadings(nanoseconds(0));
  ASSERT_EQ(clock_.coarse_now_, poll_clock_.now());

  EXPECT_EQ(PollUntilReading(nanoseconds(0)), 16);
}

TEST_F(PollClockTest, ExactReadingIsNeverOld) {
  PollsOfReadings(nanoseconds(0));
  for (int i = 1; i < 40; ++i) {
    clock_.now_ += nanoseconds(1);
    EXPECT_EQ(poll_clock_.EndOfPoll(/*exact=*/true), clock_.now_);
    EXPECT_FALSE(poll_clock_.is_shared());
  }
}

TEST_F(PollClockTest, NewRoundReadsAnew) {
  PollsOfReadings(nanoseconds(0));
  for (int i = 0; i < 5; ++i) poll_clock_.EndOfPoll(/*exact=*/false);
  clock_.now_ += microseconds(1);

  poll_clock_.BeginRound();

  EXPECT_EQ(poll_clock_.now(), kStart + microseconds(1));
  EXPECT_FALSE(poll_clock_.is_shared());
  EXPECT_EQ(PollUntilReading(nanoseconds(0)), 16);
}

TEST_F(PollClockTest, RefreshReturnsHowFarTheReadingWasBehind) {
  PollsOfReadings(nanoseconds(0));
  poll_clock_.EndOfPoll(/*exact=*/false);
  clock_.now_ += nanoseconds(700);

  EXPECT_EQ(poll_clock_.Refresh(), nanoseconds(700));
  EXPECT_EQ(poll_clock_.now(), clock_.now_);
  EXPECT_FALSE(poll_clock_.is_shared());
}

}  // namespace
}  // namespace waiter::internal::poll_clock_test
