// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The charts that show what policies will do (charts/*.vl.json), with their
// data.

#ifndef WAITER_CLI_COMMANDS_POLICY_CHARTS_H_
#define WAITER_CLI_COMMANDS_POLICY_CHARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "charts/chart.h"
#include "sim/duration_distribution.h"
#include "sim/plan.h"
#include "sim/trade_off.h"

namespace waiter::cli {

struct NamedPlan {
  std::string name;
  sim::Plan plan;
};

// Returns when each policy polls, up to `horizon`.
charts::Chart ScheduleChart(absl::Span<const NamedPlan> plans,
                            absl::Duration horizon);

// Returns how many polls each policy has made by when.
charts::Chart CumulativeChart(absl::Span<const NamedPlan> plans,
                              absl::Duration horizon);

// What a chart of trade-offs calls the policies that it names.
inline constexpr std::string_view kAskedFor = "as asked for";
inline constexpr std::string_view kProposal = "proposal";

// Returns polls against delay. A poll costs as much as `poll_cost` of delay.
charts::Chart TradeOffChart(absl::Span<const sim::TradeOff> points,
                            absl::Duration poll_cost);

// Returns the share that is ready by when, and the shares that waits with
// `policies` have seen. An error is that of `PlayWaits`.
absl::StatusOr<charts::Chart> DetectionChart(
    absl::Span<const sim::NamedPolicy> policies,
    const sim::DurationDistribution& ready,
    const sim::TradeOffOptions& options);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_POLICY_CHARTS_H_
