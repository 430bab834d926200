// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Makes text from outside safe to show on a terminal:
//
//   err << "waiter: " << waiter::cli::Printable(argument) << '\n';

#ifndef WAITER_CLI_TEXT_PRINTABLE_H_
#define WAITER_CLI_TEXT_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waiter::cli {

// Returns `text` as one line of UTF-8 that cannot move the cursor, ring the
// bell or change colors. Control characters are escaped, such as `\x1b` or
// `\u009b`. Each byte that is not UTF-8 becomes U+FFFD.
std::string Printable(std::string_view text);

// Returns `text` if it has at most `size` bytes. Otherwise returns as many of
// its characters as fit in `size` bytes, followed by "...".
std::string Shortened(std::string_view text, size_t size);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_PRINTABLE_H_
