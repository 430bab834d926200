// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The argument of --learn and --from, a file of durations and an operation:
//
//   absl::StatusOr<waiter::cli::LearnedName> name =
//       waiter::cli::ParseLearnedName("durations:create instance");
//   // name->path == "durations", name->operation == "create instance"

#ifndef WAITER_CLI_RUN_LEARNED_NAME_H_
#define WAITER_CLI_RUN_LEARNED_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::cli {

struct LearnedName {
  std::string path;            // Not empty; contains no zero bytes.
  std::string operation = {};  // Empty if none is named.
};

// Reads FILE[:OPERATION]. The first colon ends FILE, because the names of most
// operations are targets, such as tcp://db:5432. In FILE, %3A is a colon and
// %25 a percent sign. Returns kInvalidArgument with the problem.
absl::StatusOr<LearnedName> ParseLearnedName(std::string_view text);

// Returns a text from which `ParseLearnedName` makes the same name.
std::string FormatLearnedName(const LearnedName& name);

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_LEARNED_NAME_H_
