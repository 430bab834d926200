// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WAITER_INTEROP_PRINTABLE_H_
#define WAITER_INTEROP_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {

// Returns text from outside in a form that is safe to print, cut to `longest`.
inline std::string PrintableAscii(std::string_view text, size_t longest) {
  std::string printable(text.substr(0, longest));
  for (char& c : printable) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return printable;
}

// Returns the text without blanks at both ends.
inline std::string_view Stripped(std::string_view text) {
  return ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
}

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_PRINTABLE_H_
