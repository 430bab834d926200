// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter simulate learned`: shows the savings of learned delays, and their
// cost if they are wrong.

#ifndef WAITER_CLI_COMMANDS_SIMULATE_LEARNED_H_
#define WAITER_CLI_COMMANDS_SIMULATE_LEARNED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/commands/subcommand.h"

namespace waiter::cli {

// Returns the names of its flags.
std::vector<std::string> LearnedFlagNames();

// Runs it with the arguments after "learned". Writes tables, with a verdict
// next to each target.
absl::Status SimulateLearnedCommand(const Invocation& invocation);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_SIMULATE_LEARNED_H_
