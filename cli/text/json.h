// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads any JSON (RFC 8259), and writes JSON. No function throws, and neither
// do the functions of nlohmann::json that accept a wrong type or a missing
// member: `find`, `is_*`, `get_ptr`.
//
//   absl::StatusOr<nlohmann::json> value = waiter::cli::ParseJson(line);
//   if (!value.ok()) return value.status();
//   const std::string* event = waiter::cli::FindString(*value, "event");
//
// Only code that looks into a value needs <nlohmann/json.hpp>, which is large.

#ifndef WAITER_CLI_TEXT_JSON_H_
#define WAITER_CLI_TEXT_JSON_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::cli {

// Returns the one value that `text` consists of, or kInvalidArgument with the
// byte, counted from 0, at which the parser stopped, and the problem there.
//
// At most 64 arrays and objects may be nested, and numbers must fit into a
// double. If members have the same name, the last one counts. Bytes in strings
// that are not UTF-8 become U+FFFD.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Returns a member of `object`, or null if it is not there or `object` is a
// value of another type.
const nlohmann::json* FindMember(const nlohmann::json& object,
                                 std::string_view name);

// Returns such a member if it is a string, or null.
const std::string* FindString(const nlohmann::json& object,
                              std::string_view name);

// Returns the text of such a member, which is empty unless it is a string.
std::string_view TextOf(const nlohmann::json& object, std::string_view name);

// Returns whether `object` has such a member, which is true.
bool IsTrue(const nlohmann::json& object, std::string_view name);

// Returns such a member if it is a number.
std::optional<double> FindNumber(const nlohmann::json& object,
                                 std::string_view name);

// Returns `value` if it is a number.
std::optional<double> NumberOf(const nlohmann::json& value);

// Returns `value` as JSON that is written without a fraction if it has none: 2,
// not 2.0. Infinity and NaN become null, as JSON has no such numbers.
nlohmann::ordered_json JsonNumber(double value);

// Returns `time` as such a number of milliseconds.
nlohmann::ordered_json JsonMilliseconds(absl::Duration time);

// Returns `value` in one line. Bytes that are not UTF-8 become U+FFFD.
std::string JsonText(const nlohmann::ordered_json& value);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_JSON_H_
