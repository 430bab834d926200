// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// UTF-8 in text that may be anything.

#ifndef WAITER_CLI_TEXT_UTF8_H_
#define WAITER_CLI_TEXT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waiter::cli {

// Returns the length of the character that `text` begins with: 1 to 4 bytes, or
// 0 if `text` is empty or does not begin with valid UTF-8.
size_t Utf8Length(std::string_view text);

// Returns `text` with U+FFFD in the place of each byte that is not part of
// valid UTF-8.
std::string ToUtf8(std::string_view text);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_UTF8_H_
