// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/text_regex.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace waiter::cli {
namespace {

// The time of regcomp(3) can be quadratic in the number of parts: it is tenths
// of a second for this many. A nested repetition easily has millions.
constexpr size_t kMostParts = 2000;

bool HasBackReference(std::string_view pattern) {
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    ++i;
    if (absl::ascii_isdigit(static_cast<unsigned char>(pattern[i]))) {
      return true;
    }
  }
  return false;
}

// Returns the end of the bracket expression that begins at `begin`.
size_t BracketEnd(std::string_view pattern, size_t begin) {
  size_t first = begin + 1;
  if (first < pattern.size() && pattern[first] == '^') ++first;
  return std::min(pattern.find(']', first + 1), pattern.size());
}

// Returns the larger bound of the repetition {N}, {N,} or {N,M} that begins at
// `begin`; at least 1.
size_t LargerBound(std::string_view pattern, size_t begin) {
  const std::string_view bounds =
      pattern.substr(begin + 1, pattern.find('}', begin) - begin - 1);
  size_t larger = 1;
  for (const std::string_view bound : absl::StrSplit(bounds, ',')) {
    size_t number = 0;
    if (absl::SimpleAtoi(bound, &number)) larger = std::max(larger, number);
  }
  return std::min(larger, kMostParts + 1);
}

// Returns how many characters and groups `pattern` has once its repetitions are
// written out, as regcomp(3) does: (a{9}){9} has 90. Stops counting beyond
// `kMostParts`. Expects no valid pattern.
size_t CountParts(std::string_view pattern) {
  std::vector<size_t> groups = {0};  // Parts of the groups that are open.
  size_t last = 0;                   // Parts that a repetition repeats.
  const auto add = [&](size_t parts) {
    last = std::min(parts, kMostParts + 1);
    groups.back() = std::min(groups.back() + last, kMostParts + 1);
  };
  for (size_t i = 0; i < pattern.size(); ++i) {
    switch (pattern[i]) {
      case '(':
        groups.push_back(1);
        break;
      case ')':
        if (groups.size() > 1) {
          const size_t parts = groups.back();
          groups.pop_back();
          add(parts);
        }
        break;
      case '{':
        add((LargerBound(pattern, i) - 1) * last);
        i = std::min(pattern.find('}', i), pattern.size());
        break;
      case '[':
        i = BracketEnd(pattern, i);
        add(1);
        break;
      case '\\':
        ++i;
        add(1);
        break;
      default:
        add(1);
    }
  }
  // A group that is never closed is an error that regcomp(3) reports.
  return groups.front();
}

absl::StatusOr<std::shared_ptr<const regex_t>> Compile(
    const std::string& pattern) {
  auto compiled = std::make_unique<regex_t>();
  const int error =
      regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 120> why = {};
    regerror(error, compiled.get(), why.data(), why.size());
    return absl::InvalidArgumentError(
        absl::StrCat("not a regular expression: ", why.data()));
  }
  return std::shared_ptr<const regex_t>(compiled.release(), [](auto* regex) {
    auto* const owned = const_cast<regex_t*>(regex);
    regfree(owned);
    delete owned;
  });
}

bool MatchesLine(const regex_t& regex, std::string_view line) {
#ifdef REG_STARTEND
  // Unlike the plain call, this does not stop at a zero byte.
  regmatch_t range = {};
  range.rm_eo = static_cast<regoff_t>(line.size());
  return regexec(&regex, line.data(), 0, &range, REG_STARTEND) == 0;
#else
  return regexec(&regex, std::string(line).c_str(), 0, nullptr, 0) == 0;
#endif
}

}  // namespace

TextRegex::TextRegex(std::string pattern,
                     std::shared_ptr<const regex_t> compiled)
    : pattern_(std::move(pattern)), compiled_(std::move(compiled)) {}

absl::StatusOr<TextRegex> TextRegex::Parse(std::string_view pattern) {
  std::string text(pattern);
  if (absl::StrContains(text, '\0')) {
    return absl::InvalidArgumentError(
        "an expression must not contain a zero byte");
  }
  if (HasBackReference(text)) {
    return absl::InvalidArgumentError(
        "back references, such as \\1, are not supported");
  }
  if (CountParts(text) > kMostParts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the repetitions make it longer than ", kMostParts, " characters"));
  }
  // Compile it alone first: "a)(b" is invalid, but is valid in parentheses.
  if (const auto alone = Compile(text); !alone.ok()) return alone.status();
  auto compiled = Compile(absl::StrCat("^[^\n]*(", text, ")"));
  if (!compiled.ok()) return compiled.status();
  return TextRegex(std::move(text), *std::move(compiled));
}

bool TextRegex::Matches(std::string_view text) const {
  const auto lines = absl::StrSplit(text, '\n');
  return std::any_of(lines.begin(), lines.end(), [this](std::string_view line) {
    if (MatchesLine(*compiled_, line)) return true;
    return absl::ConsumeSuffix(&line, "\r") && MatchesLine(*compiled_, line);
  });
}

}  // namespace waiter::cli
