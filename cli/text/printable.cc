// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/printable.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/text/utf8.h"

namespace waiter::cli {

std::string Printable(std::string_view text) {
  std::string printable;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character first = FirstOf(rest);
    if (first.point < 0x20 || first.point == 0x7f) {
      absl::StrAppendFormat(&printable, "\\x%02x", first.point);
    } else if (first.point >= 0x80 && first.point < 0xa0) {
      absl::StrAppendFormat(&printable, "\\u%04x", first.point);
    } else if (first.point == kReplacementPoint) {
      printable += kReplacement;
    } else {
      printable += rest.substr(0, first.length);
    }
    rest.remove_prefix(first.length);
  }
  return printable;
}

std::string Shortened(std::string_view text, size_t size) {
  if (text.size() <= size) return std::string(text);
  return absl::StrCat(Utf8Prefix(text, size), "...");
}

}  // namespace waiter::cli
