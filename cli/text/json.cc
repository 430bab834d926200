// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/text/utf8.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 64;

absl::Status Wrong(size_t byte, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("at byte ", byte, ": ", what));
}

// Returns the byte of the bracket that exceeds `kMaxDepth`. What precedes it is
// valid JSON.
size_t TooDeepAt(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return text.size();
}

// Returns the parser's description of an error, without the position and the
// text that it quotes, such as "invalid literal" of
//
//   [json.exception.parse_error.101] parse error at line 1, column 2: syntax
//   error while parsing value - invalid literal; last read: 'x'
std::string_view WhatOf(std::string_view error) {
  for (const std::string_view before : {"] ", " - "}) {
    const size_t at = error.find(before);
    if (at != std::string_view::npos) error.remove_prefix(at + before.size());
  }
  return error.substr(
      0, std::min(error.find("; last read: "), error.find(" parsing '")));
}

// Builds the value, and stops at the limits.
// NOLINTNEXTLINE(bugprone-exception-escape): a null value allocates nothing.
class Builder final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Put(nullptr) != nullptr; }
  bool boolean(bool value) override { return Put(value) != nullptr; }
  bool number_integer(int64_t value) override { return Put(value) != nullptr; }
  bool number_unsigned(uint64_t value) override {
    return Put(value) != nullptr;
  }
  bool number_float(double value, const std::string& /*text*/) override {
    return Put(value) != nullptr;
  }
  bool string(std::string& value) override {
    return Put(std::move(value)) != nullptr;
  }
  bool binary(json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return Open(json::object()); }
  bool start_array(size_t /*size*/) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    member_ = &(*open_.back())[std::move(name)];
    return true;
  }
  bool parse_error(size_t bytes_read, const std::string& /*token*/,
                   const json::exception& error) override {
    error_at_ = bytes_read == 0 ? 0 : bytes_read - 1;
    error_ = std::string(WhatOf(error.what()));
    return false;
  }

  json Take() { return std::move(root_); }
  bool too_deep() const { return too_deep_; }
  size_t error_at() const { return error_at_; }
  const std::string& error() const { return error_; }

 private:
  // Returns the place of the value.
  json* Put(json value) {
    json* place = &root_;
    if (!open_.empty()) {
      json& parent = *open_.back();
      place = parent.is_array() ? &parent.emplace_back() : member_;
    }
    *place = std::move(value);
    return place;
  }

  bool Open(json container) {
    too_deep_ = open_.size() == kMaxDepth;
    if (!too_deep_) open_.push_back(Put(std::move(container)));
    return !too_deep_;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;  // From the outermost; only the last one grows.
  json* member_ = nullptr;   // Where the next value of an object belongs.
  bool too_deep_ = false;
  size_t error_at_ = 0;
  std::string error_;
};

// Returns the byte of `text` that became byte `at` of `ToUtf8(text)`.
size_t ByteBefore(std::string_view text, size_t at) {
  size_t byte = 0;
  for (size_t valid = 0; byte < text.size();) {
    const Utf8Character first = FirstOf(text.substr(byte));
    const bool is_invalid =
        first.point == kReplacementPoint && first.length == 1;
    valid += is_invalid ? kReplacement.size() : first.length;
    if (valid > at) break;
    byte += first.length;
  }
  return byte;
}

}  // namespace

absl::StatusOr<json> ParseJson(std::string_view text) {
  // Versions of the parser describe it differently.
  if (text.empty()) return Wrong(0, "the text is empty");
  // The parser passes over a byte order mark.
  if (absl::StartsWith(text, "\ufeff")) return Wrong(0, "a byte order mark");
  const std::string valid = ToUtf8(text);
  Builder builder;
  if (!json::sax_parse(valid.begin(), valid.end(), &builder)) {
    if (builder.too_deep()) {
      return Wrong(TooDeepAt(text),
                   absl::StrCat("deeper than ", kMaxDepth, " values"));
    }
    return Wrong(ByteBefore(text, builder.error_at()), builder.error());
  }
  // The parser takes a NUL character for the end.
  const size_t nul = text.find('\0');
  if (nul != std::string_view::npos) return Wrong(nul, "a NUL character");
  return builder.Take();
}

const json* FindMember(const json& object, std::string_view name) {
  const auto member = object.find(name);
  return member == object.end() ? nullptr : &*member;
}

const std::string* FindString(const json& object, std::string_view name) {
  const json* const member = FindMember(object, name);
  return member == nullptr ? nullptr : member->get_ptr<const std::string*>();
}

std::string_view TextOf(const json& object, std::string_view name) {
  const std::string* const text = FindString(object, name);
  if (text == nullptr) return {};
  return *text;
}

bool IsTrue(const json& object, std::string_view name) {
  const json* const member = FindMember(object, name);
  return member != nullptr && *member == true;
}

std::optional<double> FindNumber(const json& object, std::string_view name) {
  const json* const member = FindMember(object, name);
  return member == nullptr ? std::nullopt : NumberOf(*member);
}

std::optional<double> NumberOf(const json& value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

nlohmann::ordered_json JsonNumber(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::trunc(value) == value && std::abs(value) <= kExact) {
    return static_cast<int64_t>(value);
  }
  return value;  // Written as null if it is not finite.
}

nlohmann::ordered_json JsonMilliseconds(absl::Duration time) {
  return JsonNumber(absl::ToDoubleMilliseconds(time));
}

std::string JsonText(const nlohmann::ordered_json& value) {
  return value.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace waiter::cli
