// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter simulate budgets`: shows what processes do to the limit of an API,
// each with its own limiter and with a shared one.

#ifndef WAITER_CLI_COMMANDS_SIMULATE_BUDGETS_H_
#define WAITER_CLI_COMMANDS_SIMULATE_BUDGETS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/commands/subcommand.h"

namespace waiter::cli {

// Returns the names of its flags.
std::vector<std::string> BudgetsFlagNames();

// Runs it with the arguments after "budgets". Writes a table or, with `--json`,
// one line with a JSON object:
//
//   {"v": 1, "processes": 100, "busy": 40, "waits": 10, "every_ms": 1000,
//    "polls_per_second": 100, "burst": 100, "duration_ms": 240000, "seed": 1,
//    "limiters": [{"limiters": "own, adaptive", "total": PART,
//                  "peak_polls": 237, "store_calls_per_second": 0,
//                  "phases": [PART, ...],
//                  "polls": [106, ...], "throttled": [6, ...]}, ...]}
//
// where PART is
//
//   {"begin_ms": 60000, "end_ms": 90000, "events": ["1m:move:40"],
//    "polls": 3642, "throttled": 641, "used": 1.0, "fairness": 0.899}
//
// `sim::BudgetsPart` defines the shares. `polls` and `throttled` of a limiter
// have a number for each second. `events` lists the ones at the beginning
// of a phase.
absl::Status SimulateBudgetsCommand(const Invocation& invocation);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_SIMULATE_BUDGETS_H_
