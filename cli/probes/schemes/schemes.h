// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The table of all schemes, and the texts that come from it:
//
//   const waiter::cli::Scheme* scheme = waiter::cli::FindScheme("redis:6379");
//   std::cout << waiter::cli::SchemesHelp();

#ifndef WAITER_CLI_PROBES_SCHEMES_SCHEMES_H_
#define WAITER_CLI_PROBES_SCHEMES_SCHEMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/probes/scheme.h"

namespace waiter::cli {

// Returns all rows, in the order of the documentation.
const std::vector<const Scheme*>& AllSchemes();

// Returns the length of the scheme that `text` begins with, known or not,
// without its colon; 0 if none.
size_t SchemeLength(std::string_view text);

// Returns the row of the scheme that `text` begins with, null if none. The
// case of letters does not matter.
const Scheme* FindScheme(std::string_view text);

// Returns the lines about targets of `waiter --help`, each with its end: the
// schemes that have a `brief`, and the names of some others.
std::string SchemesSummary();

// Returns the lines of `waiter --help=targets`, each with its end. For each row
// of the documentation, one line has its form, and lines that are indented more
// say when it is ready.
std::string SchemesHelp();

// Returns the table of targets of docs/command.md in Markdown.
std::string SchemesTable();

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SCHEMES_SCHEMES_H_
