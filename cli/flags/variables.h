// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags as environment variables: `--max-attempts` is `WAITER_MAX_ATTEMPTS`,
// for users who can change the variables of a container but not its command
// line. `Flags::Parse` reads them.
//
//   std::vector<std::string> environment = waiter::cli::ProcessEnvironment();
//   waiter::cli::WarnOfUnknownVariables(environment, flags, std::cerr);
//
// An environment is a list of `NAME=value`, and every function that reads one
// takes it as an argument. An empty variable counts as not set.

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

// Returns the name of the variable of `--flag`.
std::string VariableOf(std::string_view flag);

// Returns the value of the variable `name` as a view into `environment`. Empty
// if it is not set.
std::string_view FindVariable(absl::Span<const std::string> environment,
                              std::string_view name);

// Returns whether the name of any variable begins with `WAITER_`.
bool HasOwnVariables(absl::Span<const std::string> environment);

// Writes a line for each variable that is set, whose name begins with
// `WAITER_`, and that belongs to none of `flags`. Writes none for variables
// that `waiter` sets for its probes (WAITER_ATTEMPT, WAITER_ELAPSED_MS,
// WAITER_DEADLINE_MS, WAITER_TARGET), so that a probe may call `waiter`. Also
// ignores WAITER_TEST_... and variables that Kubernetes sets for a service
// called waiter, such as WAITER_PORT=tcp://10.0.0.1:80.
void WarnOfUnknownVariables(absl::Span<const std::string> environment,
                            absl::Span<const std::string> flags,
                            std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_VARIABLES_H_
