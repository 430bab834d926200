// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Searches text for a regular expression, which is of extended POSIX syntax and
// matches within a line, as with `grep -E`. A line also ends before CRLF. The
// text may be large, and hostile.
//
//   const absl::StatusOr<waiter::cli::TextRegex> ready =
//       waiter::cli::TextRegex::Parse("^UP$");
//   if (!ready.ok()) return ready.status();
//   if (ready->Matches(body)) ...
//
// Uses regexec(3) of the C library. std::regex recurses for each character and
// overflows the stack, and RE2 does not support the whole range of Abseil and
// Bazel versions that Waiter does. The time of a search by regexec(3) is
// quadratic. Therefore lines are matched from their beginning, with an
// expression that allows any text before the match, in time linear in the text.
// Back references are an extension of some C libraries, whose time is not
// bounded; they are refused.

#ifndef WAITER_CLI_TEXT_TEXT_REGEX_H_
#define WAITER_CLI_TEXT_TEXT_REGEX_H_

#include <regex.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::cli {

// Immutable, and cheap to copy. Safe to share between threads.
class TextRegex {
 public:
  // Parses `pattern`. kInvalidArgument names the error.
  static absl::StatusOr<TextRegex> Parse(std::string_view pattern);

  // Returns whether any line of `text` has a match.
  bool Matches(std::string_view text) const;

  const std::string& pattern() const { return pattern_; }

 private:
  TextRegex(std::string pattern, std::shared_ptr<const regex_t> compiled);

  std::string pattern_;
  std::shared_ptr<const regex_t> compiled_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_TEXT_REGEX_H_
