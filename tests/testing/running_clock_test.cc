// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The program is stopped by SIGSTOP, a debugger, or its virtual machine.

#include "waiter/testing/running_clock.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/testing/eventually_fixture.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::running_clock_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool debugged = false;
bool IsDebuggedNow() { return debugged; }

class RunningClockTest : public testing::Test {
 protected:
  RunningClockTest() { debugged = false; }

  absl::Duration Shown() {
    return absl::FromChrono(running_.MonotonicNow() - start_);
  }
  void SleepFor(absl::Duration time) {
    running_.SleepUntil(running_.MonotonicNow() + time, waiter::stop_token(),
                        "test");
  }

  StoppingClock clock_;
  RunningClock running_{clock_, Minutes(10), IsDebuggedNow};
  MonotonicTime start_ = running_.MonotonicNow();
};

TEST_F(RunningClockTest, LateEndOfASleepIsLeftOut) {
  clock_.stop_in_sleep = 2;
  clock_.stop_for = Minutes(5);
  SleepFor(Seconds(1));
  EXPECT_EQ(Shown(), Seconds(1));
  SleepFor(Seconds(1));

  EXPECT_EQ(Shown(), Seconds(2));
  EXPECT_EQ(running_.stopped(), Minutes(5));
  SleepFor(Seconds(3));
  EXPECT_EQ(Shown(), Seconds(5));
}

// A machine under load wakes sleepers late, and that time counts.
TEST_F(RunningClockTest, DelayUpToTheThresholdCounts) {
  clock_.stop_in_sleep = 1;
  clock_.stop_for = RunningClock::kThreshold;
  SleepFor(Milliseconds(10));

  EXPECT_EQ(Shown(), Milliseconds(10) + RunningClock::kThreshold);
  EXPECT_EQ(running_.stopped(), absl::ZeroDuration());
}

TEST_F(RunningClockTest, LongPollCountsUnlessADebuggerIsAttached) {
  clock_.Advance(Seconds(30));
  EXPECT_EQ(Shown(), Seconds(30));

  debugged = true;
  clock_.Advance(Seconds(30));
  EXPECT_EQ(Shown(), Seconds(30));
  clock_.Advance(RunningClock::kThreshold);
  EXPECT_EQ(Shown(), Seconds(30) + RunningClock::kThreshold);
}

TEST_F(RunningClockTest, NoMoreThanTheMaximumIsLeftOut) {
  clock_.stop_in_sleep = 1;
  clock_.stop_for = Minutes(15);
  SleepFor(Seconds(1));

  EXPECT_EQ(running_.stopped(), Minutes(10));
  EXPECT_EQ(Shown(), Minutes(5) + Seconds(1));
}

TEST_F(RunningClockTest, SleepWithoutEndOverflowsNothing) {
  clock_.stop_in_sleep = 1;
  clock_.stop_for = Minutes(1);
  SleepFor(Seconds(1));
  waiter::stop_source stop;
  stop.request_stop();
  running_.SleepUntil(MonotonicTime::max(), stop.get_token(), "test");

  EXPECT_EQ(Shown(), Seconds(1));
}

// Bazel's own limit of 5 minutes still applies, so these stops are shorter.
EventuallyOptions EverySecond(Clock& clock) {
  return {.timeout = Seconds(5), .backoff = kEverySecond, .clock = &clock};
}

// playwright#31501: an assertion expires while its program is in a debugger.
TEST(StoppedProgramTest, StopDoesNotUseUpTheLimit) {
  StoppingClock clock;
  clock.stop_in_sleep = 2;
  clock.stop_for = Minutes(2);
  int polls = 0;

  EXPECT_EVENTUALLY(++polls, 5, EverySecond(clock));
  EXPECT_EQ(clock.Elapsed(), Minutes(2) + Seconds(4));
}

TEST(StoppedProgramTest, MessageSaysForHowLong) {
  StoppingClock clock;
  clock.stop_in_sleep = 2;
  clock.stop_for = Minutes(2);

  EXPECT_THAT(
      FailureOf([&] { EXPECT_EVENTUALLY(1, 2, EverySecond(clock)); }),
      HasSubstr(
          ", real clock, not counting 2m in which the program was stopped\n"));
}

TEST(StoppedProgramTest, HoldForIsTimeThatTheProgramRan) {
  StoppingClock clock;
  clock.stop_in_sleep = 2;
  clock.stop_for = Minutes(2);
  EventuallyOptions options = EverySecond(clock);
  options.timeout.reset();
  options.hold_for = Seconds(4);

  EXPECT_CONSISTENTLY(1, 1, options);
  EXPECT_EQ(clock.Elapsed(), Minutes(2) + Seconds(4));
}

TEST(StoppedProgramTest, SimulatedTimeIsTakenAsItIs) {
  SimulatedClock clock;
  EventuallyOptions options = EverySecond(clock);
  clock.CallAt(Milliseconds(1500), [&] { clock.AdvanceTime(Minutes(2)); });

  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2, options); }),
              AllOf(HasSubstr("Polls: 3 in 2m"), Not(HasSubstr("stopped"))));
}

}  // namespace
}  // namespace waiter::running_clock_test
