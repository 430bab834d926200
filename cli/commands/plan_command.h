// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter plan`: the schedule of a policy before it is run, and, for a
// distribution of how long the thing takes, what policies cost and give.
//
//   waiter plan --backoff=1s,2,30s --jitter=full
//   waiter plan --expect=60s --html plan.html
//   waiter plan --expect=60s --json           # plan_output.h has the format

#ifndef WAITER_CLI_COMMANDS_PLAN_COMMAND_H_
#define WAITER_CLI_COMMANDS_PLAN_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the names of its flags.
std::vector<std::string> PlanFlags();

// Runs the subcommand with the arguments after its name and the variables that
// stand for flags (cli/variables.h), and returns the exit
// code of the process: 0, 2 for wrong arguments, or 125.
int RunPlan(absl::Span<const std::string> args,
            absl::Span<const std::string> environment, std::ostream& out,
            std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_PLAN_COMMAND_H_
