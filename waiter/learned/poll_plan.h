// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The poll times that cost least for a distribution of durations:
//
//   const PollPlan plan = PlanPolls(EstimateDurations(observations), options);
//   plan.table;  // When to poll after a poll at any time.
//
// This is optimal inspection: the poll times minimize
//
//   polls + lateness / seconds_of_delay_worth_one_poll
//
// on average (Barlow, Hunter, Proschan, "Optimum Checking Procedures", 1963).
// They are found by dynamic programming from the last cell of the grid to the
// first, under a limit of the ratio of two consecutive times.

#ifndef WAITER_LEARNED_POLL_PLAN_H_
#define WAITER_LEARNED_POLL_PLAN_H_

#include <vector>

#include "waiter/learned/duration_estimate.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/learned/poll_table.h"

namespace waiter::internal {

struct PollPlan {
  PollTable table;
  std::vector<float> times;  // Poll times of the cheapest path, in seconds.
  double polls = 0;          // Expected, with the one at the start.
  double lateness = 0;       // Expected, in seconds.
  double seconds_of_delay_worth_one_poll = 0;
};

// Returns the plan that reaches the target of the options, which must be valid.
// If the estimate has too few observations, or the default target takes more
// polls than the default backoff, the plan is empty, and its table has the
// weight 0. Takes at most 1 ms.
PollPlan PlanPolls(const DurationEstimate& estimate,
                   const LearnedDelaysOptions& options);

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_POLL_PLAN_H_
