// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A status function that plays a list, for tests on simulated time:
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

// Answers with its steps in order, and with the last for ever after. Pass it by
// `std::ref`, as a copy keeps its own record. Thread-compatible.
template <typename T = void>
class ScriptedPoll {
 public:
  // An answer, and the simulated time that it takes to come.
  class Step {
   public:
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

  Poll<T> operator()() {
    const size_t index = std::min(polled_at_.size(), steps_.size() - 1);
    polled_at_.push_back(clock_.Elapsed());
    clock_.AdvanceTime(steps_[index].takes_);
    return steps_[index].found_;
  }

  // When each poll began, since the clock was made.
  const std::vector<absl::Duration>& polled_at() const { return polled_at_; }

 private:
  SimulatedClock& clock_;
  std::vector<Step> steps_;
  std::vector<absl::Duration> polled_at_;
};

}  // namespace waiter

#endif  // WAITER_TESTING_SCRIPTED_POLL_H_
