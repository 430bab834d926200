// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the subcommands of `waiter` share: how they end.

#ifndef WAITER_CLI_RUN_EXIT_CODE_H_
#define WAITER_CLI_RUN_EXIT_CODE_H_

#include <ostream>
#include <string_view>

#include "absl/status/status.h"

namespace waiter::cli {

// Exit codes. What was asked for makes no sense; and the program itself failed.
inline constexpr int kUsageError = 2;
inline constexpr int kOwnFailure = 125;

// Writes one line that says why `command` ends with `status`, if it is not OK.
// Returns the exit code: 0, `kUsageError` for kInvalidArgument, or else
// `kOwnFailure`.
int ExitCode(const absl::Status& status, std::string_view command,
             std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_EXIT_CODE_H_
