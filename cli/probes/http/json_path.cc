// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/json_path.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

// Longest text that `Found` shows, in bytes.
constexpr size_t kLongestShownText = 60;

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

std::string Describe(const nlohmann::json& value) {
  if (const auto* const text = value.get_ptr<const std::string*>()) {
    return text->size() <= kLongestShownText
               ? JsonText(*text)
               : absl::StrCat(JsonText(text->substr(0, kLongestShownText)),
                              "...");
  }
  if (const std::optional<double> number = NumberOf(value)) {
    return JsonText(JsonNumber(*number));
  }
  if (const auto* const boolean = value.get_ptr<const bool*>()) {
    return *boolean ? "true" : "false";
  }
  if (value.is_array()) return absl::StrCat("an array of ", value.size());
  return value.is_object() ? "an object" : "null";
}

}  // namespace

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<JsonPath> Parse() {
    Skip();
    if (absl::Status status = ReadPath(); !status.ok()) return status;
    const std::string_view path = text_.substr(0, text_.size() - rest_.size());
    read_.path_ = absl::StripAsciiWhitespace(path);
    Skip();
    if (rest_.empty()) return std::move(read_);
    if (!ReadOperator()) {
      return Wrong("expected ==, !=, <, <=, > or >=, or the end");
    }
    Skip();
    if (absl::Status status = ReadOperand(); !status.ok()) return status;
    return std::move(read_);
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "at character ", text_.size() - rest_.size() + 1, ": ", what));
  }

  void Skip() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  absl::Status ReadPath() {
    if (!absl::StartsWith(rest_, ".") && !absl::StartsWith(rest_, "[")) {
      return Wrong("a path must begin with a dot, as in .status");
    }
    // The document itself.
    if (rest_[0] == '.' && (rest_.size() == 1 || rest_[1] == '[' ||
                            absl::StrContains(" \t=!<>", rest_.substr(1, 1)))) {
      rest_.remove_prefix(1);
    }
    while (!rest_.empty()) {
      absl::Status status = absl::OkStatus();
      if (absl::ConsumePrefix(&rest_, ".")) {
        status = ReadName();
      } else if (absl::ConsumePrefix(&rest_, "[")) {
        status = ReadIndex();
      } else {
        break;
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadName() {
    if (absl::StartsWith(rest_, "\"")) return ReadQuoted();
    size_t length = 0;
    while (length < rest_.size() && IsNameChar(rest_[length])) ++length;
    if (length == 0) return Wrong("a name is missing after the dot");
    read_.steps_.emplace_back(std::string(rest_.substr(0, length)));
    rest_.remove_prefix(length);
    return absl::OkStatus();
  }

  absl::Status ReadIndex() {
    if (absl::StartsWith(rest_, "\"")) {
      if (absl::Status status = ReadQuoted(); !status.ok()) return status;
    } else {
      size_t length = 0;
      while (length < rest_.size() &&
             absl::ascii_isdigit(static_cast<unsigned char>(rest_[length]))) {
        ++length;
      }
      size_t index = 0;
      if (length == 0 || !absl::SimpleAtoi(rest_.substr(0, length), &index)) {
        return Wrong(
            "an index must be a number, zero or more, or a name in quotes");
      }
      read_.steps_.emplace_back(index);
      rest_.remove_prefix(length);
    }
    return absl::ConsumePrefix(&rest_, "]") ? absl::OkStatus()
                                            : Wrong("] is missing");
  }

  // A name as JSON writes a string.
  absl::Status ReadQuoted() {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') {
      end += rest_[end] == '\\' ? 2 : 1;
    }
    if (end >= rest_.size()) return Wrong("this quote is not closed");
    const absl::StatusOr<nlohmann::json> name =
        ParseJson(rest_.substr(0, end + 1));
    if (!name.ok()) return Wrong("not a JSON string");
    read_.steps_.emplace_back(*name->get_ptr<const std::string*>());
    rest_.remove_prefix(end + 1);
    return absl::OkStatus();
  }

  bool ReadOperator() {
    // Longer ones first.
    static constexpr std::array<std::pair<std::string_view, Operator>, 6>
        kOperators = {{{"==", Operator::kEqual},
                       {"!=", Operator::kNotEqual},
                       {"<=", Operator::kAtMost},
                       {">=", Operator::kAtLeast},
                       {"<", Operator::kLess},
                       {">", Operator::kMore}}};
    const auto* const found = std::find_if(
        kOperators.begin(), kOperators.end(),
        [this](const std::pair<std::string_view, Operator>& known) {
          return absl::ConsumePrefix(&rest_, known.first);
        });
    if (found == kOperators.end()) return false;
    read_.operator_ = found->second;
    return true;
  }

  absl::Status ReadOperand() {
    if (rest_.empty()) return Wrong("a value is missing");
    const absl::StatusOr<nlohmann::json> value = ParseJson(rest_);
    std::optional<Scalar> scalar = value.ok() ? ScalarOf(*value) : std::nullopt;
    if (!scalar.has_value()) {
      return Wrong(
          "a value must be a number, true, false, null, or a string in double "
          "quotes");
    }
    const bool orders = read_.operator_ != Operator::kEqual &&
                        read_.operator_ != Operator::kNotEqual;
    if (orders && !value->is_number()) {
      return Wrong("only numbers can be compared with <, <=, > and >=");
    }
    read_.operand_ = *std::move(scalar);
    return absl::OkStatus();
  }

  const std::string_view text_;
  std::string_view rest_;
  JsonPath read_;
};

absl::StatusOr<JsonPath> JsonPath::Parse(std::string_view text) {
  return Parser(text).Parse();
}

std::optional<JsonPath::Scalar> JsonPath::ScalarOf(
    const nlohmann::json& value) {
  if (value.is_null()) return nullptr;
  if (const auto* const boolean = value.get_ptr<const bool*>()) {
    return *boolean;
  }
  if (const std::optional<double> number = NumberOf(value)) return *number;
  if (const auto* const text = value.get_ptr<const std::string*>()) {
    return *text;
  }
  return std::nullopt;
}

const nlohmann::json* JsonPath::Find(const nlohmann::json& document) const {
  const nlohmann::json* at = &document;
  for (const Step& step : steps_) {
    if (const auto* const name = std::get_if<std::string>(&step)) {
      at = FindMember(*at, *name);
    } else {
      const size_t index = std::get<size_t>(step);
      at = at->is_array() && index < at->size() ? &(*at)[index] : nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool JsonPath::Holds(const nlohmann::json& document) const {
  const nlohmann::json* const found = Find(document);
  if (operator_ == Operator::kExists) return found != nullptr;
  if (operator_ == Operator::kEqual || operator_ == Operator::kNotEqual) {
    const bool wants_equal = operator_ == Operator::kEqual;
    if (found == nullptr) return wants_equal && operand_ == Scalar(nullptr);
    return (ScalarOf(*found) == operand_) == wants_equal;
  }
  if (found == nullptr || !found->is_number()) return false;
  const double left = *NumberOf(*found);
  const double right = std::get<double>(operand_);
  switch (operator_) {
    case Operator::kLess:
      return left < right;
    case Operator::kAtMost:
      return left <= right;
    case Operator::kMore:
      return left > right;
    default:
      return left >= right;
  }
}

std::string JsonPath::Value(const nlohmann::json& document) const {
  if (operator_ != Operator::kExists) return Holds(document) ? "true" : "false";
  const nlohmann::json* const found = Find(document);
  if (found == nullptr) return "null";
  const auto* const text = found->get_ptr<const std::string*>();
  return text == nullptr ? JsonText(*found) : *text;
}

std::string JsonPath::Found(const nlohmann::json& document) const {
  const nlohmann::json* const found = Find(document);
  return found == nullptr ? absl::StrCat("no ", path_)
                          : absl::StrCat(path_, " is ", Describe(*found));
}

}  // namespace waiter::cli
