// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A regular expression for text that may be large, and anything: extended POSIX
// syntax, found line by line, as `grep -E` does.
//
//   absl::StatusOr<waiter::cli::TextRegex> ready =
//   waiter::cli::TextRegex::Parse("^UP$"); if (!ready.ok()) return
//   ready.status(); if (ready->Matches(body)) ...
//
// It is regexec(3) of the C library: std::regex recurses for each character and
// overflows the stack, and RE2 comes with neither end of the range of Abseil
// and Bazel that is supported. Searching is quadratic in regexec(3), so lines
// are matched from their begin on, with whatever may precede made part of the
// expression: the cost is linear in the text. Back references, which are no
// part of the syntax but of some C libraries, are refused: theirs has no bound.

#ifndef WAITER_CLI_PROBES_HTTP_TEXT_REGEX_H_
#define WAITER_CLI_PROBES_HTTP_TEXT_REGEX_H_

#include <regex.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::cli {

// Immutable, and cheap to copy. Safe to share between threads.
class TextRegex {
 public:
  // Returns the expression, or kInvalidArgument with what is wrong with it.
  static absl::StatusOr<TextRegex> Parse(std::string_view pattern);

  // Returns whether it is found in any line of `text`.
  bool Matches(std::string_view text) const;

  const std::string& pattern() const { return pattern_; }

 private:
  TextRegex(std::string pattern, std::shared_ptr<const regex_t> compiled);

  std::string pattern_;
  std::shared_ptr<const regex_t> compiled_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_TEXT_REGEX_H_
