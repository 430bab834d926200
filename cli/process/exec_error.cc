// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/exec_error.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace waiter::cli {

ExecError DescribeExecError(const std::string& program, int error) {
  std::string why = std::generic_category().message(error);
  int exit_code = 126;
  switch (error) {
    case ENOENT:
      if (!absl::StrContains(program, '/')) {
        why = "command not found";
      } else if (access(program.c_str(), F_OK) == 0) {
        why = "its interpreter was not found";
      }
      [[fallthrough]];
    case ENOTDIR:
      exit_code = 127;
      break;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      exit_code = ExecError::kNoResources;
      break;
    default:
      break;
  }
  return {.exit_code = exit_code, .text = absl::StrCat(program, ": ", why)};
}

}  // namespace waiter::cli
