// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads a file that the command line names:
//
//   absl::StatusOr<std::string> text = waiter::cli::ReadInput("run.jsonl");

#ifndef WAITER_CLI_COMMANDS_READ_INPUT_H_
#define WAITER_CLI_COMMANDS_READ_INPUT_H_

#include <string>

#include "absl/status/statusor.h"

namespace waiter::cli {

// Returns the contents of the file `name`, or of standard input if `name` is
// "-". Returns kInvalidArgument, with the name and the reason, if the file
// cannot be read.
absl::StatusOr<std::string> ReadInput(const std::string& name);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_READ_INPUT_H_
