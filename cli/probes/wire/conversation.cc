// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/conversation.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/text/printable.h"

namespace waiter::cli {

std::string Excerpt(std::string_view bytes) {
  constexpr size_t kLongest = 120;
  bytes = absl::StripTrailingAsciiWhitespace(bytes);
  const std::string text = Printable(bytes.substr(0, kLongest));
  return bytes.size() > kLongest ? absl::StrCat(text, "...") : text;
}

}  // namespace waiter::cli
