// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The schedule of a policy, before any wait is made with it.
//
//   absl::StatusOr<waiter::sim::Plan> plan =
//       waiter::sim::MakePlan({.timeout = absl::Minutes(5)});
//   std::cout << waiter::sim::PlanTable(*plan, /*max_rows=*/20)
//             << waiter::sim::Timeline(plan->example, absl::Minutes(5), 60);
//
// Everything here comes from `Schedule` (schedule.h), so it is what a wait does
// whose polls take no time and find «not ready». Budgets are left out: such
// polls cost nothing.

#ifndef WAITER_SIM_PLAN_H_
#define WAITER_SIM_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/options.h"
#include "waiter/wait_policy.h"

namespace waiter::sim {

// Plays waits with one policy. Immutable, so safe to share between threads.
class PollPlanner {
 public:
  // Returns the planner, or the error of `Validate(policy)`.
  static absl::StatusOr<PollPlanner> Make(const WaitOptions& policy);

  // Returns when each poll of one wait begins, from its start. The wait ends as
  // the policy says, or with poll `max_polls`, which is at least 1.
  std::vector<absl::Duration> PollTimes(absl::BitGenRef gen,
                                        int64_t max_polls) const;

 private:
  explicit PollPlanner(std::shared_ptr<const WaitPolicy> policy)
      : policy_(std::move(policy)) {}

  std::shared_ptr<const WaitPolicy> policy_;
};

// One poll over many waits with the same policy.
struct PlannedPoll {
  int64_t attempt;  // From 1.

  // The window of the delay before it, at its widest: what the lowest and the
  // highest draws give, before it is fitted to the deadline.
  absl::Duration shortest_delay;
  absl::Duration longest_delay;

  // When it begins: the time that a share of 0.05, 0.5 and 0.95 of the waits
  // that make it are not later than.
  absl::Duration p5;
  absl::Duration p50;
  absl::Duration p95;

  // The share of waits that make it.
  double reached;
};

struct Plan {
  std::vector<PlannedPoll> polls;

  // When the polls of one of the waits begin.
  std::vector<absl::Duration> example;

  // Polls of a wait that goes on to its end.
  double mean_polls = 0;

  // Whether waits were cut off after `PlanOptions::max_polls`.
  bool cut_off = false;
};

struct PlanOptions {
  int64_t max_polls = 1000;
  int waits = 1000;  // To take the quantiles from.
  uint64_t seed = 1;
};

// An error is that of `Validate(policy)`.
absl::StatusOr<Plan> MakePlan(const WaitOptions& policy,
                              const PlanOptions& options = {});

// Returns a table of text, with a line for each poll and at most `max_rows` of
// them: attempt, window of the delay, time, and the share of waits that make
// it.
std::string PlanTable(const Plan& plan, int max_rows);

// Returns `columns` characters for the time from zero to `end`: `.` where
// nothing is polled, `|` for one poll, and `#` for more.
std::string Timeline(absl::Span<const absl::Duration> polls, absl::Duration end,
                     int columns);

}  // namespace waiter::sim

#endif  // WAITER_SIM_PLAN_H_
