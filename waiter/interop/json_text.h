// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Finds single values in any JSON (RFC 8259), without making objects of the
// rest. Takes time linear in the text, and bounded stack.
//
//   const std::optional<std::string_view> value =
//       FindJsonText(body, {"error", "message"});
//   if (value.has_value()) text = PlainJsonText(*value);

#ifndef WAITER_INTEROP_JSON_TEXT_H_
#define WAITER_INTEROP_JSON_TEXT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waiter::internal {

// Returns `text` without a byte order mark of UTF-8 at its start.
std::string_view WithoutByteOrderMark(std::string_view text);

// Returns the JSON of the value at the members in `path`, from the one value of
// `text`. If members have the same name, the last one counts. Returns nothing
// if there is no such value, or if `text` is not JSON or nests more than 64
// arrays and objects.
std::optional<std::string_view> FindJsonText(
    std::string_view text, std::span<const std::string_view> path);

// Returns the names in a path that separates them by dots, such as
// "error.message".
std::vector<std::string_view> JsonSteps(std::string_view path);

// Returns the JSON of each element if `json`, a result of `FindJsonText`, is an
// array; otherwise nothing.
std::vector<std::string_view> JsonElements(std::string_view json);

// Returns the text of a string, and everything else as it is written. `json` is
// a result of `FindJsonText`.
std::string PlainJsonText(std::string_view json);

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_JSON_TEXT_H_
