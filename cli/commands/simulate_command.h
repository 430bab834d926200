// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter simulate`: what many clients do to a server.
//
//   waiter simulate fleet --clients=500 --polls-per-second=100
//   waiter simulate contention --clients=10,50,100

#ifndef WAITER_CLI_COMMANDS_SIMULATE_COMMAND_H_
#define WAITER_CLI_COMMANDS_SIMULATE_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the names of its flags.
std::vector<std::string> SimulateFlags();

// Runs the subcommand with the arguments after its name and the variables that
// stand for flags (cli/variables.h), and returns the exit
// code of the process: 0, 2 for wrong arguments, or 125.
int RunSimulate(absl::Span<const std::string> args,
                absl::Span<const std::string> environment, std::ostream& out,
                std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_SIMULATE_COMMAND_H_
