// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter durable`: waits that outlive their process, in a store that workers
// share.
//
//   waiter durable add --store=jobs.db jobs http://10.0.0.7/jobs/1
//   waiter durable work --store=jobs.db jobs -- ./publish
//   waiter durable status --store=jobs.db jobs

#ifndef WAITER_CLI_COMMANDS_DURABLE_COMMAND_H_
#define WAITER_CLI_COMMANDS_DURABLE_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"

namespace waiter::cli {

class DurableCommand : public Subcommand {
 public:
  std::string_view name() const override { return "durable"; }
  std::vector<std::string> FlagNames() const override;

  // Returns 1 from `status` if more waits are overdue than --max-overdue
  // allows. Also returns 1 from `show`, `notify` and `cancel` if there is no
  // such wait, and from `check` if it has found something, even if it has
  // repaired it. Returns `kOwnFailure` if the store cannot be asked.
  int Run(const Invocation& invocation) const override;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_DURABLE_COMMAND_H_
