// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter report FILE.jsonl`: shows what happened in a run that was logged.
//
//   waiter --log-json run.jsonl tcp://localhost:5432
//   waiter report run.jsonl --html run.html

#ifndef WAITER_CLI_COMMANDS_REPORT_COMMAND_H_
#define WAITER_CLI_COMMANDS_REPORT_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"

namespace waiter::cli {

class ReportCommand : public Subcommand {
 public:
  std::string_view name() const override { return "report"; }
  std::vector<std::string> FlagNames() const override;

  // Also returns `kUsageError` for a file that cannot be read or is not a log.
  // The file `-` is standard input.
  int Run(const Invocation& invocation) const override;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_REPORT_COMMAND_H_
