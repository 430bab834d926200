// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/json.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace waiter {
namespace {

[[noreturn]] void Abort(std::string_view message) {
  std::cerr << "JSON: " << message << std::endl;
  std::abort();
}

}  // namespace

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Json Document() {
    Json value = Value("$");
    Skip();
    if (at_ != text_.size()) Fail("more text");
    return value;
  }

 private:
  [[noreturn]] void Fail(std::string_view what) const {
    Abort(absl::StrCat(what, " at byte ", at_));
  }

  void Skip() {
    while (at_ < text_.size() && absl::StrContains(" \t\r\n", text_[at_])) {
      ++at_;
    }
  }

  bool Take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void Expect(std::string_view word) {
    Skip();
    if (!Take(word)) Fail(absl::StrCat("no ", word));
  }

  // Reference data is as deep as it is.
  // NOLINTBEGIN(misc-no-recursion)
  Json Value(const std::string& path) {
    Skip();
    Json json;
    json.path_ = path;
    if (at_ >= text_.size()) Fail("no value");
    if (text_[at_] == '{') {
      json.value_ = Members(path);
    } else if (text_[at_] == '[') {
      json.value_ = Elements(path);
    } else if (text_[at_] == '"') {
      json.value_ = String();
    } else if (Take("true")) {
      json.value_ = true;
    } else if (Take("false")) {
      json.value_ = false;
    } else if (!Take("null")) {
      json.value_ = Number();
    }
    return json;
  }

  Json::Object Members(const std::string& path) {
    Json::Object members;
    Expect("{");
    for (Skip(); !Take("}"); Skip()) {
      if (!members.empty()) Expect(",");
      Skip();
      std::string name = String();
      Expect(":");
      Json value = Value(absl::StrCat(path, ".", name));
      members.insert_or_assign(std::move(name), std::move(value));
    }
    return members;
  }

  Json::Array Elements(const std::string& path) {
    Json::Array elements;
    Expect("[");
    for (Skip(); !Take("]"); Skip()) {
      if (!elements.empty()) Expect(",");
      elements.push_back(Value(absl::StrCat(path, "[", elements.size(), "]")));
    }
    return elements;
  }

  // NOLINTEND(misc-no-recursion)

  std::string String() {
    Expect("\"");
    std::string text;
    while (!Take("\"")) {
      if (at_ >= text_.size()) Fail("no end of a string");
      if (text_[at_] != '\\') {
        text += text_[at_++];
        continue;
      }
      ++at_;
      constexpr std::string_view kEscapes = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      const size_t escape = kEscapes.find(text_[at_]);
      if (escape == std::string_view::npos) Fail("an escape that is not known");
      text += kMeanings[escape];
      ++at_;
    }
    return text;
  }

  double Number() {
    const size_t length =
        text_.substr(at_).find_first_not_of("+-.0123456789eE");
    double number = 0;
    if (!absl::SimpleAtod(text_.substr(at_, length), &number)) {
      Fail("no number");
    }
    at_ = length == std::string_view::npos ? text_.size() : at_ + length;
    return number;
  }

  std::string_view text_;
  size_t at_ = 0;
};

namespace {

template <typename T, typename Variant>
const T& Get(const Variant& value, std::string_view path) {
  const T* const found = std::get_if<T>(&value);
  if (found == nullptr) Abort(absl::StrCat(path, " is of another type"));
  return *found;
}

}  // namespace

Json Json::Parse(std::string_view text) { return JsonParser(text).Document(); }

Json Json::ReadVectors(std::string_view name) {
  std::ifstream file(absl::StrCat("tests/vectors/", name));
  if (!file.good()) Abort(absl::StrCat("cannot read ", name));
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
  if (member == object().end()) Abort(absl::StrCat(path_, " has no ", name));
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
