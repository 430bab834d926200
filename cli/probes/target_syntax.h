// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Functions that the parsers of several schemes share. Errors name the problem
// and the correct form, and contain no part of a password.

#ifndef WAITER_CLI_PROBES_TARGET_SYNTAX_H_
#define WAITER_CLI_PROBES_TARGET_SYNTAX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/probes/scheme.h"
#include "cli/probes/target.h"

namespace waiter::cli {

// Returns kInvalidArgument.
absl::Status Invalid(std::string_view why);

// Returns kInvalidArgument with the example of the scheme.
absl::Status InvalidForm(std::string_view why, const Scheme& scheme);

// Returns the error for a URL without //; `rest` follows the colon.
absl::Status NoSlashes(std::string_view rest, const Scheme& scheme);

// Returns whether labels, and names of containers, may contain `c`.
bool IsLabelCharacter(char c);

// The parts of //[USER[:PASSWORD]@]HOST[:PORT][PATH]. All views are parts of
// the text that was parsed.
struct UrlParts {
  bool has_user = false;
  std::string user = {};      // Decoded.
  std::string password = {};  // Decoded.

  // As written, except that hosts beyond ASCII are converted.
  std::string authority = {};

  std::string host = {};  // In ASCII.
  uint16_t port = 0;
  std::vector<std::pair<std::string, uint16_t>> more_hosts = {};
  std::string_view path = {};  // With query and fragment.
};

// Parts of a URL that only some schemes accept.
struct UrlRules {
  // A URL without a user may have an @ in its path, as is common in HTTP.
  // Elsewhere it shows that a password has a character that it must not have.
  bool at_in_path = false;

  // The host is something else, which the caller reads from `authority`.
  bool any_authority = false;

  // Several hosts may be given, with commas between them.
  bool many_hosts = false;

  // Go's driver of MySQL writes user:password@tcp(host:port)/database.
  bool tcp_in_parentheses = false;
};

// Splits `rest`, which follows the colon of the scheme.
absl::StatusOr<UrlParts> ReadUrl(std::string_view rest, const Scheme& scheme,
                                 UrlRules rules = {});

// Returns path and query of a request, beginning with `/`, without the
// fragment.
absl::StatusOr<std::string> RequestPath(std::string_view path);

// Checks that a path of a socket fits into an address.
absl::Status CheckSocketPath(std::string_view path);

// Checks a path, such as /a or a/b, and shortens ///a to /a.
absl::Status ReadPath(const Scheme& scheme, std::string& path);

// A parameter of a target, such as stable=2s, and its value, which is empty if
// it is not given.
struct Parameter {
  std::string_view name;
  std::string_view value = {};
};

// Reads `rest` up to `?` into `value`, and the text after it into `parameters`,
// which are all optional.
absl::Status ReadParameters(std::string_view rest, const Scheme& scheme,
                            std::string& value,
                            absl::Span<Parameter> parameters);

// Checks the value of the parameter `match`, a regular expression. An error
// does not show it.
absl::Status CheckMatch(std::string_view pattern);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_TARGET_SYNTAX_H_
