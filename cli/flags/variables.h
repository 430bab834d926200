// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The environment, as a place for flags: `--max-attempts` is
// `WAITER_MAX_ATTEMPTS`, for those who can change a container's variables but
// not its command line. `Flags::Parse` reads them.
//
//   std::vector<std::string> environment = waiter::cli::ProcessEnvironment();
//   waiter::cli::WarnOfUnknownVariables(environment, names_of_flags,
//   std::cerr);
//
// An environment is a list of `NAME=value`, and an argument of whatever reads
// it. A variable that is empty counts as not set.

#ifndef WAITER_CLI_FLAGS_VARIABLES_H_
#define WAITER_CLI_FLAGS_VARIABLES_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace waiter::cli {

// Returns the variables of this process.
std::vector<std::string> ProcessEnvironment();

// Returns the name of the variable that stands for `--flag`.
std::string VariableOf(std::string_view flag);

// Returns the value of the variable, or nothing, a view into `environment`.
std::string_view FindVariable(absl::Span<const std::string> environment,
                              std::string_view name);

// Returns whether any of the variables begins with `WAITER_`.
bool HasOwnVariables(absl::Span<const std::string> environment);

// Writes a line for each variable that begins with `WAITER_`, is not empty, and
// stands for none of `flags`. Those that Waiter itself has a use for are known:
// what a probe is told (WAITER_ATTEMPT, WAITER_ELAPSED_MS, WAITER_DEADLINE_MS,
// WAITER_TARGET), so that a probe may be `waiter` again, and WAITER_TEST_...
void WarnOfUnknownVariables(absl::Span<const std::string> environment,
                            absl::Span<const std::string> flags,
                            std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_VARIABLES_H_
