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
  const std::string characters = ToUtf8(text);
  std::string printable;
  for (size_t i = 0; i < characters.size(); ++i) {
    const auto byte = static_cast<unsigned char>(characters[i]);
    const auto next = static_cast<unsigned char>(
        i + 1 < characters.size() ? characters[i + 1] : 0);
    if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&printable, "\\x%02x", byte);
    } else if (byte == 0xc2 && next < 0xa0) {
      // U+0080 to U+009F.
      absl::StrAppendFormat(&printable, "\\u%04x", next);
      ++i;
    } else {
      printable.push_back(characters[i]);
    }
  }
  return printable;
}

std::string Shortened(std::string_view text, size_t size) {
  if (text.size() <= size) return std::string(text);
  // A character has at most three bytes of this form behind its first.
  for (int i = 0; i < 3 && size > 0 && (text[size] & 0xc0) == 0x80; ++i) --size;
  return absl::StrCat(text.substr(0, size), "...");
}

}  // namespace waiter::cli
