// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/text_regex.h"

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
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace waiter::cli {
namespace {

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
  // Compile it alone first: "a)(b" is invalid, but is valid in parentheses.
  if (const auto alone = Compile(text); !alone.ok()) return alone.status();
  auto compiled = Compile(absl::StrCat("^[^\n]*(", text, ")"));
  if (!compiled.ok()) return compiled.status();
  return TextRegex(std::move(text), *std::move(compiled));
}

bool TextRegex::Matches(std::string_view text) const {
  const auto lines = absl::StrSplit(text, '\n');
  return std::any_of(lines.begin(), lines.end(), [this](std::string_view line) {
    return MatchesLine(*compiled_, line);
  });
}

}  // namespace waiter::cli
