// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/json.h"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace waiter {
namespace {

[[noreturn]] void Abort(std::string_view message) {
  std::cerr << "JSON: " << message << std::endl;
  std::abort();
}

template <typename T, typename Variant>
const T& Get(const Variant& value, std::string_view path) {
  const T* const found = std::get_if<T>(&value);
  if (found == nullptr) {
    Abort(absl::StrCat(std::string(path), " is of another type"));
  }
  return *found;
}

}  // namespace

// Reference data is not deeply nested.
// NOLINTBEGIN(misc-no-recursion)
Json::Json(const nlohmann::json& value, std::string path)
    : path_(std::move(path)) {
  if (value.is_boolean()) {
    value_ = value.get<bool>();
  } else if (value.is_number()) {
    value_ = value.get<double>();
  } else if (value.is_string()) {
    value_ = value.get<std::string>();
  } else if (value.is_array()) {
    Array elements;
    for (const nlohmann::json& element : value) {
      elements.push_back(
          Json(element, absl::StrCat(path_, "[", elements.size(), "]")));
    }
    value_ = std::move(elements);
  } else if (value.is_object()) {
    Object members;
    for (const auto& [name, member] : value.items()) {
      members.emplace(name, Json(member, absl::StrCat(path_, ".", name)));
    }
    value_ = std::move(members);
  }
}
// NOLINTEND(misc-no-recursion)

Json Json::Parse(std::string_view text) {
  try {
    return {nlohmann::json::parse(text), "$"};
  } catch (const nlohmann::json::exception& error) {
    Abort(error.what());
  }
}

Json Json::ReadVectors(std::string_view name) {
  std::ifstream file(absl::StrCat("tests/vectors/", std::string(name)));
  if (!file.good()) Abort(absl::StrCat("cannot read ", std::string(name)));
  std::ostringstream text;
  text << file.rdbuf();
  return Parse(text.str());
}

bool Json::is_null() const {
  return std::holds_alternative<std::monostate>(value_);
}
bool Json::is_number() const { return std::holds_alternative<double>(value_); }
bool Json::is_string() const {
  return std::holds_alternative<std::string>(value_);
}
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

bool Json::boolean() const { return Get<bool>(value_, path_); }
double Json::number() const { return Get<double>(value_, path_); }
const std::string& Json::string() const {
  return Get<std::string>(value_, path_);
}
const Json::Array& Json::array() const { return Get<Array>(value_, path_); }
const Json::Object& Json::object() const { return Get<Object>(value_, path_); }

const Json& Json::operator[](std::string_view name) const {
  const auto member = object().find(name);
  if (member == object().end()) {
    Abort(absl::StrCat(path_, " has no ", std::string(name)));
  }
  return member->second;
}

bool Json::has(std::string_view name) const {
  return object().find(name) != object().end();
}

double Json::number_or(std::string_view name, double otherwise) const {
  return has(name) ? (*this)[name].number() : otherwise;
}

const Json& Json::operator[](int index) const {
  const Array& elements = array();
  if (index < 0 || static_cast<size_t>(index) >= elements.size()) {
    Abort(absl::StrCat(path_, " has no element ", index));
  }
  return elements[static_cast<size_t>(index)];
}

}  // namespace waiter
