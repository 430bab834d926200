// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads the reference data in tests/vectors.

#ifndef WAITER_TESTS_SUPPORT_JSON_H_
#define WAITER_TESTS_SUPPORT_JSON_H_

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace waiter {

// An immutable JSON value. A wrong use, such as `["x"]` of a number, aborts
// with the path, because reference data must be right for the test to be valid.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;

  // Aborts with the position of the first error.
  static Json Parse(std::string_view text);

  // Reads "tests/vectors/" + `name`.
  static Json ReadVectors(std::string_view name);

  bool is_null() const;
  bool is_number() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  bool boolean() const;
  double number() const;
  const std::string& string() const;
  const Array& array() const;
  const Object& object() const;

  // Returns its place in the text, such as "$.cases[2].name".
  const std::string& path() const { return path_; }

  // Members of an object. `[]` aborts if the member is missing.
  const Json& operator[](std::string_view name) const;
  bool has(std::string_view name) const;
  double number_or(std::string_view name, double otherwise) const;

  // Returns an element of an array.
  const Json& operator[](int index) const;

 private:
  Json(const nlohmann::json& value, std::string path);

  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
  std::string path_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_JSON_H_
