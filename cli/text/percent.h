// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Percent-encoding of URLs (RFC 3986, 2.1):
//
//   waiter::cli::PercentDecoded("my%20file");  // "my file"

#ifndef WAITER_CLI_TEXT_PERCENT_H_
#define WAITER_CLI_TEXT_PERCENT_H_

#include <string>
#include <string_view>

namespace waiter::cli {

// Returns `text` with each `%` and two hexadecimal digits as the byte that they
// encode. A `%` without two such digits stays as it is.
std::string PercentDecoded(std::string_view text);

// Returns `text` with all bytes encoded but letters, digits, `-`, `.`, `_` and
// `~`.
std::string PercentEncoded(std::string_view text);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_PERCENT_H_
