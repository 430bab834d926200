// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Fills the charts that show what policies do (cli/charts/*.vl.json) with data.

#ifndef WAITER_CLI_COMMANDS_POLICY_CHARTS_H_
#define WAITER_CLI_COMMANDS_POLICY_CHARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/sim/plan.h"
#include "cli/sim/trade_off.h"

namespace waiter::cli {

// A plan and the name of its policy.
struct NamedPlan {
  std::string name;
  sim::Plan plan;
};

// Returns the chart of the times at which each policy polls, up to `horizon`.
charts::Chart ScheduleChart(absl::Span<const NamedPlan> plans,
                            absl::Duration horizon);

// Returns the chart of how many polls each policy has made at each time, up to
// `horizon`.
charts::Chart CumulativeChart(absl::Span<const NamedPlan> plans,
                              absl::Duration horizon);

// Names of the two policies that the charts point out.
inline constexpr std::string_view kGivenPolicy = "given policy";
inline constexpr std::string_view kProposal = "proposal";

// Returns the chart of polls against delay, with lines of equal cost. One poll
// costs as much as a delay of `poll_cost`.
charts::Chart TradeOffChart(absl::Span<const sim::TradeOff> points,
                            absl::Duration poll_cost);

// Waits with a policy, and its name.
struct NamedWaits {
  std::string name;
  std::vector<sim::PlayedWait> waits;
};

// Returns the chart of the share of operations that are ready at each time, and
// of the shares that waits with each policy have detected. All policies must
// have met the same operations.
charts::Chart DetectionChart(absl::Span<const NamedWaits> policies);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_POLICY_CHARTS_H_
