// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter plan`: shows when a policy polls, before anything is waited for. If
// the command line says how long the operation takes, also compares what
// policies cost and how late they are.
//
//   waiter plan --backoff=1s,2,30s --jitter=full
//   waiter plan --expect=60s --html plan.html
//   waiter plan --expect=60s --json           # plan_output.h has the format
//   waiter plan --from=durations:build        # learned_plan.h has that of JSON

#ifndef WAITER_CLI_COMMANDS_PLAN_COMMAND_H_
#define WAITER_CLI_COMMANDS_PLAN_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"

namespace waiter::cli {

class PlanCommand : public Subcommand {
 public:
  std::string_view name() const override { return "plan"; }
  std::vector<std::string> FlagNames() const override;
  int Run(const Invocation& invocation) const override;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_PLAN_COMMAND_H_
