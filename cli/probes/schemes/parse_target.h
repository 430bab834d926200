// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses a target of the command line, `[LABEL=]URL`:
//
//   absl::StatusOr<waiter::cli::Target> target =
//       waiter::cli::ParseTarget("db=postgres://localhost");
//
// A URL of a database may be as in DATABASE_URL. Parts that a probe does not
// need, such as the user and the name of the database, are ignored. Secrets
// stay out of everything that is shown.

#ifndef WAITER_CLI_PROBES_SCHEMES_PARSE_TARGET_H_
#define WAITER_CLI_PROBES_SCHEMES_PARSE_TARGET_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/probes/target.h"

namespace waiter::cli {

// Returns `argument`, which need not be valid, as it may be shown: everything
// that may be or contain a secret is left out.
std::string WithoutSecrets(std::string_view argument);

// Parses `argument`. Text before the first `=` is a label only if a scheme, or
// a host and a port, follow. The error is kInvalidArgument, with one line that
// names the argument, without secrets, the problem, and the correct form.
absl::StatusOr<Target> ParseTarget(std::string_view argument);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SCHEMES_PARSE_TARGET_H_
