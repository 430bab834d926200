// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waiter::cli {
namespace {

constexpr Utf8Character kInvalid = {.point = kReplacementPoint, .length = 1};

uint32_t ByteAt(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

bool IsContinuation(uint32_t byte) { return (byte & 0xc0) == 0x80; }

// Returns whether `length` bytes are too many for `point`, or `point` is half
// of a surrogate pair or beyond U+10FFFF.
bool IsForbidden(uint32_t point, size_t length) {
  return (length == 3 && point < 0x800) || (length == 4 && point < 0x10000) ||
         (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff;
}

}  // namespace

Utf8Character FirstOf(std::string_view text) {
  const uint32_t lead = ByteAt(text, 0);
  if (lead < 0x80) return {.point = lead, .length = 1};
  // 0xc0 and 0xc1 could begin only characters that one byte encodes.
  if (lead < 0xc2 || lead > 0xf4) return kInvalid;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  uint32_t point = lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const uint32_t byte = ByteAt(text, i);
    if (!IsContinuation(byte)) return kInvalid;
    point = point << 6 | (byte & 0x3fU);
  }
  if (IsForbidden(point, length)) return kInvalid;
  return {.point = point, .length = length};
}

std::string_view Utf8Prefix(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  // A character has at most three bytes after its first.
  for (int back = 0; back < 3 && size > 0 && IsContinuation(ByteAt(text, size));
       ++back) {
    --size;
  }
  return text.substr(0, size);
}

std::string ToUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character first = FirstOf(text);
    const bool is_invalid =
        first.point == kReplacementPoint && first.length == 1;
    valid += is_invalid ? kReplacement : text.substr(0, first.length);
    text.remove_prefix(first.length);
  }
  return valid;
}

}  // namespace waiter::cli
