// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Why a command cannot be run, as shells say it:
//
//   execvp(argv[0], argv);
//   const waiter::cli::ExecError error =
//   waiter::cli::DescribeExecError(argv[0], errno); std::cerr << error.text <<
//   '\n';  // "curll: command not found" return error.exit_code;           //
//   127

#ifndef WAITER_CLI_PROCESS_EXEC_ERROR_H_
#define WAITER_CLI_PROCESS_EXEC_ERROR_H_

#include <string>

namespace waiter::cli {

struct ExecError {
  // 127 if there is no such program, 126 if there is but it cannot be executed,
  // and `kNoResources` if it may work the next time: memory, processes or files
  // have run out.
  int exit_code;
  static constexpr int kNoResources = -1;

  // Begins with the command.
  std::string text;
};

// Of `command`, the first word, for which exec(2) or what it needs has failed
// with `error`, an errno.
ExecError DescribeExecError(const std::string& command, int error);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_EXEC_ERROR_H_
