// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The subcommands of `waiter`, by name.

#ifndef WAITER_CLI_SUBCOMMANDS_H_
#define WAITER_CLI_SUBCOMMANDS_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the names of the flags of all subcommands, each once.
std::vector<std::string> AllFlags();

// Runs the subcommand that `args` begins with, or waits for them as targets,
// and returns the exit code of the process. `environment` is as in
// cli/variables.h; a variable that stands for no flag at all is warned of, one
// for a flag of another subcommand is not.
int RunWaiter(absl::Span<const std::string> args,
              absl::Span<const std::string> environment, std::ostream& out,
              std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_SUBCOMMANDS_H_
