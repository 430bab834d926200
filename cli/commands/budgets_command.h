// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter budgets URL`: shows the budgets that processes share through a Redis
// server.
//
//   waiter budgets redis://10.0.0.5
//   waiter budgets --json redis://10.0.0.5/1

#ifndef WAITER_CLI_COMMANDS_BUDGETS_COMMAND_H_
#define WAITER_CLI_COMMANDS_BUDGETS_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"

namespace waiter::cli {

class BudgetsCommand : public Subcommand {
 public:
  std::string_view name() const override { return "budgets"; }
  std::vector<std::string> FlagNames() const override;

  // Returns `kOwnFailure` if the server cannot be asked.
  int Run(const Invocation& invocation) const override;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_BUDGETS_COMMAND_H_
