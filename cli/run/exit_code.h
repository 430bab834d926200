// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Exit codes that all subcommands of `waiter` share:
//
//   return waiter::cli::ExitCode(status, "waiter plan", std::cerr);

#ifndef WAITER_CLI_RUN_EXIT_CODE_H_
#define WAITER_CLI_RUN_EXIT_CODE_H_

#include <ostream>
#include <string_view>

#include "absl/status/status.h"

namespace waiter::cli {

// The command line, a variable or an input makes no sense.
inline constexpr int kUsageError = 2;

// The slice of a wait is over and the wait is not: the same command resumes it.
inline constexpr int kSliceOver = 75;

// `waiter` itself failed.
inline constexpr int kOwnFailure = 125;

// Returns the exit code for `status`: 0 if it is OK, `kUsageError` if it is
// kInvalidArgument, otherwise `kOwnFailure`. Unless it is OK, writes one line
// that begins with the name of the `command` and says why it failed.
int ExitCode(const absl::Status& status, std::string_view command,
             std::ostream& err);

// Flushes `out`, usually standard output, and returns 0 if everything was
// written. Otherwise writes a line as above and returns `kOwnFailure`.
int WrittenExitCode(std::ostream& out, std::string_view command,
                    std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_EXIT_CODE_H_
