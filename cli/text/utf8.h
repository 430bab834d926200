// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads UTF-8 one character at a time:
//
//   for (std::string_view rest = text; !rest.empty();) {
//     const waiter::cli::Utf8Character first = waiter::cli::FirstOf(rest);
//     if (first.point == 0x1b) return true;
//     rest.remove_prefix(first.length);
//   }

#ifndef WAITER_CLI_TEXT_UTF8_H_
#define WAITER_CLI_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waiter::cli {

// The code point that replaces a byte that is not UTF-8, and its encoding.
inline constexpr uint32_t kReplacementPoint = 0xfffd;
inline constexpr std::string_view kReplacement = "\uFFFD";

struct Utf8Character {
  uint32_t point;
  size_t length;  // In bytes, at least 1.
};

// Returns the character that `text` begins with. `text` must not be empty. A
// byte that does not begin a valid character counts as a character:
// `kReplacementPoint` with a length of 1.
Utf8Character FirstOf(std::string_view text);

// Returns the longest prefix of `text` that has at most `size` bytes and does
// not end inside a character. If `text` is not UTF-8, the prefix may be up to
// three bytes shorter than `size`.
std::string_view Utf8Prefix(std::string_view text, size_t size);

// Returns `text` with U+FFFD instead of each byte that is not part of valid
// UTF-8.
std::string ToUtf8(std::string_view text);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_UTF8_H_
