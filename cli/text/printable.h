// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Text from outside, for a terminal:
//
//   err << "waiter: " << waiter::cli::Printable(argument) << '\n';

#ifndef WAITER_CLI_TEXT_PRINTABLE_H_
#define WAITER_CLI_TEXT_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waiter::cli {

// Returns `text` as one line of UTF-8 that cannot move the cursor, ring or
// change colours: control characters are escaped, as `\x1b` or `\u009b`, and
// what is not UTF-8 becomes U+FFFD.
std::string Printable(std::string_view text);

// Returns `text`, or, if it is longer than `size` bytes, what of it fits, in
// whole characters of UTF-8, and "...".
std::string Shortened(std::string_view text, size_t size);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_PRINTABLE_H_
