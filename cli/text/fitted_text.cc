// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/fitted_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kMore = "...";
constexpr size_t kMostColumns = 1 << 20;

// One character of text that is UTF-8.
struct Character {
  uint32_t point;
  size_t length;
};

Character FirstOf(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  uint32_t point = lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  return {point, length};
}

bool In(uint32_t point, uint32_t first, uint32_t last) {
  return point >= first && point <= last;
}

size_t ColumnsOf(uint32_t point) {
  if (In(point, 0x300, 0x36f)) return 0;  // Accents over the one before.
  const bool narrow = point < 0x1100 || In(point, 0x1e00, 0x22ff) ||
                      In(point, 0x2500, 0x25fc) || In(point, 0x2800, 0x28ff) ||
                      point == 0xfffd;
  return narrow ? 1 : 2;
}

// Whether it is not seen itself, but changes how others are.
bool IsFormat(uint32_t point) {
  return point == 0x61c || In(point, 0x200b, 0x200f) ||
         In(point, 0x2028, 0x202e) || In(point, 0x2060, 0x206f) ||
         point == 0xfeff || In(point, 0xfe00, 0xfe0f) ||
         In(point, 0xe0000, 0xe0fff);
}

// No column has more than four bytes, but for accents.
std::string_view FirstBytes(std::string_view text, size_t columns) {
  size_t length = 4 * (columns + 1);
  if (text.size() <= length) return text;
  const auto is_inner = [&](size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  for (int back = 0; back < 3 && is_inner(length); ++back) --length;
  return text.substr(0, length);
}

}  // namespace

size_t Columns(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character character = FirstOf(text);
    columns += ColumnsOf(character.point);
    text.remove_prefix(character.length);
  }
  return columns;
}

std::string Fitted(std::string_view text, size_t columns) {
  columns = std::min(columns, kMostColumns);
  const std::string_view first = FirstBytes(text, columns);
  const std::string printable = Printable(first);
  // Where there is room for `kMore`, or is none, it is left out.
  const size_t enough =
      columns > kMore.size() ? columns - kMore.size() : columns;
  std::string fitted;
  size_t used = 0;
  size_t enough_length = 0;
  for (std::string_view rest = printable; !rest.empty();) {
    const Character character = FirstOf(rest);
    const bool format = IsFormat(character.point);
    used += format ? 1 : ColumnsOf(character.point);
    if (used > columns) break;
    fitted += format ? "\uFFFD" : rest.substr(0, character.length);
    if (used <= enough) enough_length = fitted.size();
    rest.remove_prefix(character.length);
  }
  if (used <= columns && first.size() == text.size()) return fitted;
  fitted.resize(enough_length);
  if (enough < columns) fitted += kMore;
  return fitted;
}

std::string Padded(std::string text, size_t columns) {
  const size_t used = Columns(text);
  if (used < columns) text.append(columns - used, ' ');
  return text;
}

}  // namespace waiter::cli
