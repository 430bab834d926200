// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Cursors of stores that go through waits in the order of their keys: the last
// key in hexadecimal digits, after a letter.
//
//   std::string cursor = CursorAfter(keys.back());
//   std::optional<std::string> last = KeyOfCursor(cursor);

#ifndef WAITER_DURABLE_KEY_CURSOR_H_
#define WAITER_DURABLE_KEY_CURSOR_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {

inline std::string CursorAfter(std::string_view key) {
  return absl::StrCat("k", absl::BytesToHexString(ToAbsl(key)));
}

// Returns the empty key for the cursors of a beginning, "0" and the empty one;
// nullopt for text that is not a cursor.
inline std::optional<std::string> KeyOfCursor(std::string_view cursor) {
  if (cursor.empty() || cursor == "0") return "";
  if (cursor[0] != 'k') return std::nullopt;
  return absl::HexStringToBytes(ToAbsl(cursor.substr(1)));
}

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_KEY_CURSOR_H_
