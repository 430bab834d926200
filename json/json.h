// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads JSON (RFC 8259) that may be anything, and quotes text for it. No
// library for it comes with both ends of the range of Bazel that is supported.
//
//   absl::StatusOr<waiter::JsonValue> value = waiter::ParseJson(line);
//   if (!value.ok()) return value.status();
//   const std::string* event = value->FindString("event");

#ifndef WAITER_JSON_JSON_H_
#define WAITER_JSON_JSON_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace waiter {

// An immutable JSON value. Of members with the same name the last counts.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::map<std::string, JsonValue, std::less<>>;

  JsonValue() = default;  // null
  explicit JsonValue(bool value) : value_(value) {}
  explicit JsonValue(double value) : value_(value) {}
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved
  explicit JsonValue(std::string value) : value_(std::move(value)) {}
  explicit JsonValue(Array value) : value_(std::move(value)) {}
  explicit JsonValue(Object value) : value_(std::move(value)) {}

  bool is_null() const {
    return std::holds_alternative<std::monostate>(value_);
  }

  // Null if the value is of another type.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }
  const std::string* string() const {
    return std::get_if<std::string>(&value_);
  }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }

  // A member of an object. Null if it is not there, if it is of another type,
  // or if this is no object.
  const JsonValue* Find(std::string_view name) const;
  const double* FindNumber(std::string_view name) const;
  const std::string* FindString(std::string_view name) const;

 private:
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

// Returns the one value that `text` consists of, or kInvalidArgument with what
// is wrong and at which byte. Nests at most 64 deep, and numbers are finite.
// Strings are UTF-8 where `text` is; half of a surrogate pair becomes U+FFFD.
absl::StatusOr<JsonValue> ParseJson(std::string_view text);

// Returns `text` as a JSON string, quotes included. Bytes that are not UTF-8
// become U+FFFD, and `<` is escaped, so that it can stand in HTML.
std::string QuoteJson(std::string_view text);

// Returns `value` as JSON, in as few digits as tell it from others; null if it
// is not finite, as JSON has no such number.
std::string JsonNumber(double value);

}  // namespace waiter

#endif  // WAITER_JSON_JSON_H_
