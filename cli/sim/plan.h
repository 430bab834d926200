// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The schedule of a policy, computed without waiting.
//
//   absl::StatusOr<waiter::sim::Plan> plan =
//       waiter::sim::MakePlan({.timeout = absl::Minutes(5)});
//   std::cout << waiter::sim::PlanTable(*plan, /*max_rows=*/20)
//             << waiter::sim::Timeline(plan->example, absl::Minutes(5), 60);
//
// Everything here comes from `Schedule` (policy.h), so it shows a wait whose
// polls take no time and find "not ready". Budgets are left out: such polls
// cost no tokens.

#ifndef WAITER_CLI_SIM_PLAN_H_
#define WAITER_CLI_SIM_PLAN_H_

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
#include "waiter/policy.h"

namespace waiter::sim {

// Plays waits with one policy. Immutable, so safe to share between threads.
class PollPlanner {
 public:
  // Returns the planner, or the error of `Validate(policy)`.
  static absl::StatusOr<PollPlanner> Make(const WaitOptions& policy);

  // Returns the times at which the polls of one wait begin, counted from its
  // start. The wait ends as the policy says, or with poll `max_polls`, which is
  // at least 1.
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

  // The delays before it that the lowest and the highest draws give, before
  // they are fitted to the deadline.
  absl::Duration shortest_delay;
  absl::Duration longest_delay;

  // Quantiles of the time at which it begins, over the waits that make it.
  absl::Duration p5;
  absl::Duration p50;
  absl::Duration p95;

  // Share of the waits that make it.
  double reached;
};

// The schedule of many waits with one policy.
struct Plan {
  std::vector<PlannedPoll> polls;

  // Times at which the polls of one of the waits begin.
  std::vector<absl::Duration> example;

  // Mean number of polls of a wait that never finds success.
  double mean_polls = 0;

  // True if a wait was cut off after `PlanOptions::max_polls`.
  bool cut_off = false;
};

struct PlanOptions {
  int64_t max_polls = 1000;
  int waits = 1000;  // Number of waits behind the quantiles.
  uint64_t seed = 1;
};

// Returns the plan, or the error of `Validate(policy)`.
absl::StatusOr<Plan> MakePlan(const WaitOptions& policy,
                              const PlanOptions& options = {});

// Returns a text table with a line for each of the first `max_rows` polls:
// attempt, window of the delay, time, and share of the waits that make it.
std::string PlanTable(const Plan& plan, int max_rows);

// Returns `columns` characters for the time from zero to `end`: `.` for no
// poll, `|` for one poll, and `#` for more.
std::string Timeline(absl::Span<const absl::Duration> polls, absl::Duration end,
                     int columns);

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_PLAN_H_
