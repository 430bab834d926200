// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter plan --from` shows this of one operation: how long it takes, when
// learned delays poll, and what that costs compared with other delays.
//
//   absl::StatusOr<waiter::cli::LearnedPlan> plan =
//       waiter::cli::MakeLearnedPlan(known, "create instance", options);
//   out << waiter::cli::LearnedPlanText(*plan, /*rows=*/16);

#ifndef WAITER_CLI_COMMANDS_LEARNED_PLAN_H_
#define WAITER_CLI_COMMANDS_LEARNED_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/charts/chart.h"
#include "cli/commands/read_durations.h"
#include "cli/sim/trade_off.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"

namespace waiter::cli {

struct LearnedPlanOptions {
  LearnedDelaysOptions learned = {};
  // The policy that learned delays fall back on.
  WaitOptions policy = {};
  // Whether a user chose its delays.
  bool is_given = false;
  uint64_t seed = 1;
};

// A policy, and waits with it.
struct PlayedPolicy {
  sim::NamedPolicy policy;
  std::vector<sim::PlayedWait> waits;
};

struct LearnedPlan {
  std::string operation;
  int64_t durations = 0;      // Known durations.
  int64_t ends = 0;           // Durations with a known end.
  int64_t damaged_lines = 0;  // In the file.
  LearnedSchedule schedule;

  // Learned delays, then policies to compare them with; empty if there are too
  // few durations. Waits that take longer than all known ones are left out.
  std::vector<PlayedPolicy> played = {};
  std::vector<sim::TradeOff> points = {};  // One for each.
};

// Returns the plan of an operation, or kInvalidArgument if nothing is known of
// it.
absl::StatusOr<LearnedPlan> MakeLearnedPlan(const KnownDurations& known,
                                            const std::string& operation,
                                            const LearnedPlanOptions& options);

// Returns the tables and a timeline. The table of polls has at most `rows`
// lines.
std::string LearnedPlanText(const LearnedPlan& plan, int rows);

// Returns one line with a JSON object:
//
//   {"v": 1, "operation": "create instance", "durations": 34, "ends": 31,
//    "damaged_lines": 0, "weight": 1, "poll_cost_ms": 812,
//    "quantiles": [{"share": 0.1, "ms": 41200}, ...],
//    "polls_ms": [0, 20100, ...], "trade_offs": [...]}
//
// `weight` is the part of the decisions that the durations have. A quantile
// beyond all known durations is null. `trade_offs` has the members that it has
// in plan_output.h.
std::string LearnedPlanJson(const LearnedPlan& plan);

// Returns the charts of `waiter plan` for it, or an error of `MakePlan`.
// Requires `played`.
absl::StatusOr<std::vector<charts::Chart>> LearnedPlanCharts(
    const LearnedPlan& plan, uint64_t seed);

// Returns a table of all operations, and the same as JSON in one line:
//
//   {"v": 1, "operations": [{"operation": "create instance", "durations": 34,
//                            "ends": 31}, ...]}
std::string OperationsText(const KnownDurations& known);
std::string OperationsJson(const KnownDurations& known);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_LEARNED_PLAN_H_
