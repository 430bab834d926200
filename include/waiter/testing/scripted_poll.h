// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A status function that plays a list of answers, for tests on simulated time:
//
//   waiter::SimulatedClock clock;
//   waiter::ScriptedPoll<int> script(clock,
//                                    {waiter::NotReady("CREATING"),
//                                     {waiter::NotReady(), absl::Seconds(2)},
//                                     waiter::Success(7)});
//   waiter::Waiter wait(std::ref(script), {.timeout = absl::Minutes(1),
//                                          .clock = &clock});
//   EXPECT_EQ(*wait.Wait(), 7);
//   EXPECT_EQ(script.polled_at().size(), 3);
//
// With exact delays the script shows when a policy polls:
//
//   waiter::ScriptedPoll<> never(clock, {waiter::NotReady()});
//   waiter::Waiter wait(std::ref(never),
//                       {.timeout = absl::Seconds(7),
//                        .backoff = {.initial_delay = absl::Seconds(1),
//                                    .jitter = waiter::Jitter::None()},
//                        .clock = &clock});
//   EXPECT_FALSE(wait.Wait().ok());
//   EXPECT_THAT(never.polled_at(),
//               ElementsAre(absl::Seconds(0), absl::Seconds(1),
//                           absl::Seconds(3), absl::Seconds(7)));

#ifndef WAITER_TESTING_SCRIPTED_POLL_H_
#define WAITER_TESTING_SCRIPTED_POLL_H_

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// Answers with its steps in order, and repeats the last one for ever. Pass it
// by `std::ref`, because a copy keeps a record of its own; it must then outlive
// the wait. Thread-compatible: one wait at a time polls it. `T` must be
// copyable.
template <typename T = void>
class ScriptedPoll {
 public:
  // An answer and the simulated time that passes until it comes.
  class Step {
   public:
    // Implicit, so that braces with an answer, or with an answer and a time,
    // make a step. `takes` must not be negative.
    template <std::convertible_to<Poll<T>> Found>
    // NOLINTNEXTLINE(google-explicit-constructor): a script is a list of polls
    Step(Found found, absl::Duration takes = absl::ZeroDuration())
        : found_(std::move(found)), takes_(takes) {}

   private:
    friend class ScriptedPoll;
    Poll<T> found_;
    absl::Duration takes_;
  };

  // Requires at least one step. `clock` must outlive this.
  ScriptedPoll(SimulatedClock& clock, std::vector<Step> steps)
      : clock_(clock), steps_(std::move(steps)) {
    assert(!steps_.empty());
  }

  // Plays the next step: records the time, advances the clock by the time that
  // the answer takes, and returns the answer.
  Poll<T> operator()() {
    const size_t index = std::min(polled_at_.size(), steps_.size() - 1);
    polled_at_.push_back(clock_.Elapsed());
    clock_.AdvanceTime(steps_[index].takes_);
    return steps_[index].found_;
  }

  // Returns the start of each poll so far, as the time since the clock was
  // made. The reference is valid until the next poll.
  const std::vector<absl::Duration>& polled_at() const { return polled_at_; }

 private:
  SimulatedClock& clock_;
  std::vector<Step> steps_;
  std::vector<absl::Duration> polled_at_;
};

}  // namespace waiter

#endif  // WAITER_TESTING_SCRIPTED_POLL_H_
