// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::scripted_poll_test {
namespace {

using ::absl::Seconds;
using ::testing::ElementsAre;

TEST(ScriptedPollTest, PollPlaysItsStepsAndRepeatsTheLast) {
  SimulatedClock clock;
  ScriptedPoll<int> script(
      clock, {NotReady("CREATING"), PollStatus::kThrottled, Success(7)});

  EXPECT_EQ(script().detail(), "CREATING");
  EXPECT_EQ(script().status(), PollStatus::kThrottled);
  EXPECT_EQ(script().value(), 7);
  EXPECT_EQ(script().value(), 7);
}

TEST(ScriptedPollTest, StepTakesItsTimeAndRecordsItsStart) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {{NotReady(), Seconds(2)}, Success()});
  clock.AdvanceTime(Seconds(1));

  script();
  EXPECT_EQ(clock.Elapsed(), Seconds(3));
  script();
  EXPECT_EQ(clock.Elapsed(), Seconds(3));
  EXPECT_THAT(script.polled_at(), ElementsAre(Seconds(1), Seconds(3)));
}

TEST(ScriptedPollTest, SingleStepIsEnough) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {PollStatus::kNotReady});

  script();
  script();
  EXPECT_EQ(script.polled_at().size(), 2);
}

TEST(ScriptedPollTest, TimeOfAStepRunsTheCallsDueInIt) {
  SimulatedClock clock;
  absl::Duration called_at;
  clock.CallAt(Seconds(1), [&] { called_at = clock.Elapsed(); });
  ScriptedPoll<> script(clock, {{Success(), Seconds(2)}});

  script();
  EXPECT_EQ(called_at, Seconds(1));
}

TEST(ScriptedPollTest, AnswersAreConverted) {
  SimulatedClock clock;
  ScriptedPoll<std::string> script(clock, {Success("text")});

  EXPECT_EQ(script().value(), "text");
}

TEST(ScriptedPollTest, CopyKeepsItsOwnRecord) {
  SimulatedClock clock;
  ScriptedPoll<> script(clock, {NotReady(), Success()});
  ScriptedPoll<> copy = script;

  copy();
  EXPECT_TRUE(script.polled_at().empty());
  EXPECT_EQ(script().status(), PollStatus::kNotReady);
}

}  // namespace
}  // namespace waiter::scripted_poll_test
