// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Writes the results of `waiter plan`, for people and for programs:
//
//   waiter::cli::PlannedPolicy planned = {.timeout = absl::Minutes(5),
//                                         .plan = plan};
//   out << waiter::cli::PlanText(planned, /*rows=*/16);
//   out << waiter::cli::PlanJson(planned);

#ifndef WAITER_CLI_COMMANDS_PLAN_OUTPUT_H_
#define WAITER_CLI_COMMANDS_PLAN_OUTPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/plan.h"
#include "cli/sim/trade_off.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::cli {

// A policy, the times of its polls, and how it compares with other policies.
struct PlannedPolicy {
  std::string name;
  absl::Duration timeout;  // May be infinite.
  sim::Plan plan;

  // How long the operation takes. The next two are set if this is.
  std::optional<sim::DurationDistribution> ready = std::nullopt;
  std::vector<sim::TradeOff> points = {};
  std::string proposal = {};  // The proposed policy as flags.
};

// Returns "1m (median; the distribution is lognormal:1m,0.6)".
std::string DurationsText(const sim::DurationDistribution& durations);

// Returns "policies for an operation that takes 45s", or an empty text if it is
// not known what the operation takes.
std::string PlanScenario(const PlannedPolicy& planned);

// Returns the tables and a timeline. The table of polls has at most `rows`
// lines.
std::string PlanText(const PlannedPolicy& planned, int rows);

// Returns one line with a JSON object that has all numbers of the tables, and
// all polls:
//
//   {"v": 1, "policy": "given policy", "timeout_ms": 300000,
//    "mean_polls": 54.2, "cut_off": false, "example_ms": [0, 77.1, ...],
//    "polls": [{"attempt": 2, "shortest_delay_ms": 50, "longest_delay_ms": 100,
//               "p5_ms": 53, "p50_ms": 75, "p95_ms": 97, "reached": 1}, ...],
//    "ready": "lognormal:1m,0.6", "proposal": "--every=5.76s ...",
//    "trade_offs": [{"policy": "every 15s", "mean_polls": 6.3,
//                    "mean_delay_ms": 7488, "p50_delay_ms": 7540,
//                    "p95_delay_ms": 14200, "missed": 0, "on_front": true},
//                   ...]}
//
// Shares are in [0, 1]. `p5_ms`, `p50_ms` and `p95_ms` are quantiles of the
// time at which a poll begins, as in `PlannedPoll`. An infinite time is null.
// `ready`, `proposal` and `trade_offs` are missing unless `planned.ready` is
// set.
std::string PlanJson(const PlannedPolicy& planned);

// Returns `trade_offs` of such an object, ordered by the number of polls.
nlohmann::ordered_json TradeOffsJson(const std::vector<sim::TradeOff>& points);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_PLAN_OUTPUT_H_
