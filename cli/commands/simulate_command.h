// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter simulate`: shows what many clients do to a server.
//
//   waiter simulate fleet --clients=500 --polls-per-second=100
//   waiter simulate contention --clients=10,50,100
//   waiter simulate budgets --processes=100 --polls-per-second=100
//   waiter simulate learned

#ifndef WAITER_CLI_COMMANDS_SIMULATE_COMMAND_H_
#define WAITER_CLI_COMMANDS_SIMULATE_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"

namespace waiter::cli {

class SimulateCommand : public Subcommand {
 public:
  std::string_view name() const override { return "simulate"; }
  std::vector<std::string> FlagNames() const override;
  int Run(const Invocation& invocation) const override;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_SIMULATE_COMMAND_H_
