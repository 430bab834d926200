// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter TARGET...` waits for what is named by URLs, and `waiter exec` for a
// command to succeed; see --help.
//
// | exit code     | when                                                    |
// | ------------- | ------------------------------------------------------- |
// | 0             | ready; or COMMAND's own, as the process becomes COMMAND |
// | 1             | a target has failed for good, or a guard has spoken     |
// | 2             | the command line makes no sense                         |
// | 3             | attempts or errors are used up                          |
// | 124           | the limit was reached                                   |
// | 125           | `waiter` itself failed                                  |
// | 126, 127      | COMMAND cannot be run, or is not there                  |
// | 129, 130, 143 | by SIGHUP, SIGINT, SIGTERM, of which the process dies   |

#ifndef WAITER_CLI_COMMANDS_WAIT_COMMAND_H_
#define WAITER_CLI_COMMANDS_WAIT_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Runs `waiter` with `args` (targets and flags) or `waiter exec`; returns the
// exit code of the process, unless that becomes COMMAND or dies of the signal
// that ended the wait. What was started has ended then.
int RunWait(absl::Span<const std::string> args,
            absl::Span<const std::string> environment, std::ostream& out,
            std::ostream& err);
int RunExec(absl::Span<const std::string> args,
            absl::Span<const std::string> environment, std::ostream& out,
            std::ostream& err);

// Returns the names of the flags of both.
std::vector<std::string> WaitFlagNames();

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_WAIT_COMMAND_H_
