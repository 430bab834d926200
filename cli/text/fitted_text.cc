// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/fitted_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/text/printable.h"
#include "cli/text/utf8.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kMore = "...";
constexpr size_t kMostColumns = 1 << 20;

bool In(uint32_t point, uint32_t first, uint32_t last) {
  return point >= first && point <= last;
}

size_t ColumnsOf(uint32_t point) {
  // Accents stand over the character before them.
  if (In(point, 0x300, 0x36f)) return 0;
  const bool narrow = point < 0x1100 || In(point, 0x1e00, 0x22ff) ||
                      In(point, 0x2500, 0x25fc) || In(point, 0x2800, 0x28ff) ||
                      point == kReplacementPoint;
  return narrow ? 1 : 2;
}

// Returns whether `point` is invisible and changes how other characters look.
bool IsFormat(uint32_t point) {
  return point == 0x61c || In(point, 0x200b, 0x200f) ||
         In(point, 0x2028, 0x202e) || In(point, 0x2060, 0x206f) ||
         point == 0xfeff || In(point, 0xfe00, 0xfe0f) ||
         In(point, 0xe0000, 0xe0fff);
}

// Returns the beginning of `text` that can reach `columns`. A column takes at
// most four bytes, except for accents.
std::string_view FirstBytes(std::string_view text, size_t columns) {
  return Utf8Prefix(text, 4 * (columns + 1));
}

}  // namespace

size_t Columns(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character character = FirstOf(text);
    columns += ColumnsOf(character.point);
    text.remove_prefix(character.length);
  }
  return columns;
}

std::string Fitted(std::string_view text, size_t columns) {
  columns = std::min(columns, kMostColumns);
  const std::string_view first = FirstBytes(text, columns);
  const std::string printable = Printable(first);
  // Columns for a text that is cut. `kMore` follows it if there is room.
  const size_t enough =
      columns > kMore.size() ? columns - kMore.size() : columns;
  std::string fitted;
  size_t used = 0;
  size_t enough_length = 0;
  for (std::string_view rest = printable; !rest.empty();) {
    const Utf8Character character = FirstOf(rest);
    const bool format = IsFormat(character.point);
    used += format ? 1 : ColumnsOf(character.point);
    if (used > columns) break;
    fitted += format ? kReplacement : rest.substr(0, character.length);
    if (used <= enough) enough_length = fitted.size();
    rest.remove_prefix(character.length);
  }
  if (used <= columns && first.size() == text.size()) return fitted;
  fitted.resize(enough_length);
  if (enough < columns) fitted += kMore;
  return fitted;
}

std::string FittedBeforeEnd(std::string_view text, size_t columns,
                            size_t tail) {
  std::string cut = Fitted(text, columns);
  if (tail == 0 || Fitted(text, 2 * columns) == cut) return cut;
  std::string_view bytes = text;
  bytes.remove_prefix(text.size() - std::min(text.size(), 4 * (tail + 1)));
  while (!bytes.empty() && (bytes[0] & '\xc0') == '\x80') {
    bytes.remove_prefix(1);
  }
  const std::string printable = Fitted(bytes, kMostColumns);
  std::string_view end = printable;
  while (Columns(end) > tail) end.remove_prefix(FirstOf(end).length);
  const size_t left = columns - Columns(end);
  const std::string begin =
      left > kMore.size() ? Fitted(text, left) : std::string(kMore);
  return absl::StrCat(begin, end);
}

std::string Padded(std::string text, size_t columns) {
  const size_t used = Columns(text);
  if (used < columns) text.append(columns - used, ' ');
  return text;
}

}  // namespace waiter::cli
