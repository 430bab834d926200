// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter report FILE.jsonl`: what happened in a run that was logged.
//
//   waiter --log-json run.jsonl tcp://localhost:5432
//   waiter report run.jsonl --html run.html
//
// With --benchmark=FILE.json it is what polls cost instead (benchmark_file.h).

#ifndef WAITER_CLI_COMMANDS_REPORT_COMMAND_H_
#define WAITER_CLI_COMMANDS_REPORT_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the names of its flags.
std::vector<std::string> ReportFlags();

// Runs the subcommand with the arguments after its name and the variables that
// stand for flags (cli/variables.h), and returns the exit
// code of the process: 0, 2 for wrong arguments or a file that cannot be read,
// or 125. The file `-` is standard input.
int RunReport(absl::Span<const std::string> args,
              absl::Span<const std::string> environment, std::ostream& out,
              std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_REPORT_COMMAND_H_
