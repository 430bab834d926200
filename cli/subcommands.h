// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Dispatches the command line of `waiter` to its subcommands.

#ifndef WAITER_CLI_SUBCOMMANDS_H_
#define WAITER_CLI_SUBCOMMANDS_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the names of the flags of all subcommands, sorted and each once.
std::vector<std::string> AllFlags();

// Runs the subcommand that `args` begins with; without one, waits for the
// targets in `args`. Returns the exit code of the process. `environment` is as
// in cli/flags/variables.h. Warns on `err` of variables that belong to no flag
// of any subcommand.
int RunWaiter(absl::Span<const std::string> args,
              absl::Span<const std::string> environment, std::ostream& out,
              std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_SUBCOMMANDS_H_
