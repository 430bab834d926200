// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads a file of any kind that a user named:
//
//   absl::StatusOr<std::string> text =
//       waiter::cli::ReadFile("body.json", size_t{16} << 20);

#ifndef WAITER_CLI_TEXT_READ_FILE_H_
#define WAITER_CLI_TEXT_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

// Returns the content of `path`. Returns kInvalidArgument with the reason if
// the file cannot be read, is larger than `most` bytes, or is a pipe that
// brings nothing for `patience`, for example because no process writes to it.
absl::StatusOr<std::string> ReadFile(
    const std::string& path, size_t most,
    absl::Duration patience = absl::Seconds(10));

// As `ReadFile`, without the byte order mark that some editors put in front.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t most);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_READ_FILE_H_
