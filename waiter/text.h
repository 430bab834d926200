// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Rules of texts for people.

#ifndef WAITER_TEXT_H_
#define WAITER_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {

// Returns the error "FIELD is VALUE; it must be RANGE".
inline absl::Status InvalidOption(std::string_view field,
                                  const absl::AlphaNum& value,
                                  std::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat(
      ToAbsl(field), " is ", value, "; it must be ", ToAbsl(range)));
}

// Returns at most the first `size` bytes of `text`, without a part of a UTF-8
// character at the end.
constexpr std::string_view CutText(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

// Returns a time in whole milliseconds, which are enough to read. A shorter
// time is not rounded.
inline std::string TimeText(absl::Duration time) {
  const absl::Duration whole = absl::Trunc(time, absl::Milliseconds(1));
  return absl::FormatDuration(whole > absl::ZeroDuration() ? whole : time);
}

}  // namespace waiter::internal

#endif  // WAITER_TEXT_H_
