// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads a file of any kind that a user named, and writes files:
//
//   absl::StatusOr<std::string> text =
//       waiter::cli::ReadFile("body.json", size_t{16} << 20);

#ifndef WAITER_CLI_TEXT_FILES_H_
#define WAITER_CLI_TEXT_FILES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace waiter::cli {

// Returns the content of `path`. Returns kNotFound if there is no such file,
// and kInvalidArgument with the reason if it cannot be read, is larger than
// `most` bytes, or is a pipe that brings nothing for `patience`, for example
// because no process writes to it.
absl::StatusOr<std::string> ReadFile(
    const std::string& path, size_t most,
    absl::Duration patience = absl::Seconds(10));

// As `ReadFile`, without the byte order mark that some editors put in front.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t most);

// Writes all of `text`. Returns false, with errno, if that fails.
bool WriteAll(int fd, std::string_view text);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_FILES_H_
