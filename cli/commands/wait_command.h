// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter TARGET...` waits for targets, which URLs name, and then replaces
// itself with a program. `waiter exec -- PROBE` waits until a probe succeeds,
// and `waiter operation URL` until an operation over HTTP has ended.
//
// | exit code   | meaning                                              |
// | ----------- | ---------------------------------------------------- |
// | 0           | ready; with PROGRAM, the exit code of PROGRAM        |
// | 1           | a target failed for good, or a guard ended the wait  |
// | 2           | the command line makes no sense                      |
// | 3           | attempts or errors are used up                       |
// | 124         | the limit was reached                                |
// | 125         | `waiter` itself failed                               |
// | 126, 127    | PROGRAM cannot run, or was not found                 |
// | 129 to 131, | SIGHUP, SIGINT, SIGQUIT or SIGTERM ended the process |
// | 143         |                                                      |

#ifndef WAITER_CLI_COMMANDS_WAIT_COMMAND_H_
#define WAITER_CLI_COMMANDS_WAIT_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/subcommand.h"
#include "cli/commands/wait_arguments.h"

namespace waiter::cli {

// The wait for targets, whose name is empty, `waiter exec`, or
// `waiter operation`.
class WaitCommand : public Subcommand {
 public:
  explicit WaitCommand(WaitArguments::Kind kind) : kind_(kind) {}

  std::string_view name() const override {
    switch (kind_) {
      case WaitArguments::Kind::kExec:
        return "exec";
      case WaitArguments::Kind::kOperation:
        return "operation";
      case WaitArguments::Kind::kTargets:
        break;
    }
    return "";
  }
  std::vector<std::string> FlagNames() const override;

  // Does not return if the process becomes PROGRAM, or dies of the signal that
  // ended the wait. Everything that the wait started has ended by then.
  int Run(const Invocation& invocation) const override;

 private:
  const WaitArguments::Kind kind_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_WAIT_COMMAND_H_
