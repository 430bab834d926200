// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/read_input.h"

#include <cstddef>
#include <iostream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/text/files.h"

namespace waiter::cli {
namespace {

// Far more than any log of a run has.
constexpr size_t kLargest = size_t{256} << 20;

}  // namespace

absl::StatusOr<std::string> ReadInput(const std::string& name) {
  if (name == "-") {
    std::ostringstream text;
    text << std::cin.rdbuf();
    return text.str();
  }
  absl::StatusOr<std::string> file = ReadFile(name, kLargest);
  if (file.ok()) return file;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": cannot be read: ", file.status().message()));
}

}  // namespace waiter::cli
