// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter mcp`: a server of the Model Context Protocol on standard input and
// output, whose waits are processes of `waiter`.

#ifndef WAITER_CLI_COMMANDS_MCP_COMMAND_H_
#define WAITER_CLI_COMMANDS_MCP_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"

namespace waiter::cli {

class McpCommand : public Subcommand {
 public:
  std::string_view name() const override { return "mcp"; }
  std::vector<std::string> FlagNames() const override;

  // Returns 0 when standard input has ended.
  int Run(const Invocation& invocation) const override;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_MCP_COMMAND_H_
