// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Explains why a program cannot be executed, in the words of shells:
//
//   execvp(argv[0], argv);
//   const waiter::cli::ExecError error =
//       waiter::cli::DescribeExecError(argv[0], errno);
//   std::cerr << error.text << '\n';  // "curll: command not found"
//   return error.exit_code;           // 127

#ifndef WAITER_CLI_PROCESS_EXEC_ERROR_H_
#define WAITER_CLI_PROCESS_EXEC_ERROR_H_

#include <string>

namespace waiter::cli {

struct ExecError {
  // 127 if there is no such program; 126 if there is one that cannot be
  // executed; `kNoResources` if memory, processes or files have run out, so
  // that the next attempt may succeed.
  int exit_code;
  static constexpr int kNoResources = -1;

  // Begins with the program.
  std::string text;
};

// Describes `error`, the errno of a failed attempt to execute `program`.
ExecError DescribeExecError(const std::string& program, int error);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_EXEC_ERROR_H_
