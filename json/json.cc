// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "json/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waiter {
namespace {

constexpr int kMaxDepth = 64;
constexpr uint32_t kReplacement = 0xfffd;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(uint32_t point, std::string& text) {
  const auto append = [&text](uint32_t byte) {
    text.push_back(static_cast<char>(byte));
  };
  if (point < 0x80) {
    append(point);
    return;
  }
  if (point < 0x800) {
    append(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      append(0xe0 | point >> 12);
    } else {
      append(0xf0 | point >> 18);
      append(0x80 | (point >> 12 & 0x3f));
    }
    append(0x80 | (point >> 6 & 0x3f));
  }
  append(0x80 | (point & 0x3f));
}

// Returns the length of the UTF-8 sequence that `text` begins with, or 0.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint32_t second = byte(1);
  // Too long, a surrogate, or beyond U+10FFFF.
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<JsonValue> Document() {
    JsonValue value;
    if (Value(0, value)) {
      Skip();
      if (at_ == text_.size()) return value;
      Fail("more text");
    }
    return absl::InvalidArgumentError(
        absl::StrCat(error_, " at byte ", error_at_));
  }

 private:
  bool Fail(std::string_view what) {
    error_ = std::string(what);
    error_at_ = at_;
    return false;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void Skip() {
    while (Peek() == ' ' || Peek() == '\t' || Peek() == '\r' ||
           Peek() == '\n') {
      ++at_;
    }
  }

  bool Take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // As deep as `kMaxDepth`.
  // NOLINTBEGIN(misc-no-recursion)
  bool Value(int depth, JsonValue& value) {
    Skip();
    if (at_ >= text_.size()) return Fail("no value");
    if (depth > kMaxDepth) return Fail("deeper than 64 values");
    if (Take("{")) return Members(depth, value);
    if (Take("[")) return Elements(depth, value);
    if (Take("true")) {
      value = JsonValue(true);
    } else if (Take("false")) {
      value = JsonValue(false);
    } else if (Peek() == '"') {
      std::string text;
      if (!String(text)) return false;
      value = JsonValue(std::move(text));
    } else if (!Take("null")) {
      return Number(value);
    }
    return true;
  }

  bool Members(int depth, JsonValue& value) {
    JsonValue::Object members;
    for (Skip(); !Take("}"); Skip()) {
      if (!members.empty() && !Take(",")) return Fail("no ,");
      Skip();
      std::string name;
      if (!String(name)) return false;
      Skip();
      if (!Take(":")) return Fail("no :");
      JsonValue& member = members[std::move(name)];
      member = JsonValue();
      if (!Value(depth + 1, member)) return false;
    }
    value = JsonValue(std::move(members));
    return true;
  }

  bool Elements(int depth, JsonValue& value) {
    JsonValue::Array elements;
    for (Skip(); !Take("]"); Skip()) {
      if (!elements.empty() && !Take(",")) return Fail("no ,");
      if (!Value(depth + 1, elements.emplace_back())) return false;
    }
    value = JsonValue(std::move(elements));
    return true;
  }
  // NOLINTEND(misc-no-recursion)

  bool String(std::string& text) {
    if (!Take("\"")) return Fail("no string");
    while (!Take("\"")) {
      if (at_ >= text_.size()) return Fail("no end of a string");
      if (Take("\\")) {
        if (!Escape(text)) return false;
        continue;
      }
      if (static_cast<unsigned char>(Peek()) < 0x20) {
        return Fail("a control character in a string");
      }
      text.push_back(text_[at_++]);
    }
    return true;
  }

  bool Escape(std::string& text) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (Take("u")) {
      std::optional<uint32_t> point = HexDigits();
      if (!point.has_value()) return false;
      if (*point >= 0xd800 && *point < 0xdc00 && Take("\\u")) {
        const std::optional<uint32_t> low = HexDigits();
        if (!low.has_value()) return false;
        if (*low >= 0xdc00 && *low < 0xe000) {
          point = 0x10000 + ((*point - 0xd800) << 10) + (*low - 0xdc00);
        } else {
          AppendUtf8(kReplacement, text);
          point = low;
        }
      }
      AppendUtf8(*point >= 0xd800 && *point < 0xe000 ? kReplacement : *point,
                 text);
      return true;
    }
    const size_t escape =
        at_ < text_.size() ? kEscapes.find(text_[at_]) : std::string_view::npos;
    if (escape == std::string_view::npos) {
      return Fail("an escape that is not known");
    }
    text.push_back(kMeanings[escape]);
    ++at_;
    return true;
  }

  std::optional<uint32_t> HexDigits() {
    uint32_t value = 0;
    const char* const begin = text_.data() + at_;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] =
        std::from_chars(begin, begin + digits.size(), value, 16);
    if (error != std::errc() || end != begin + 4) {
      Fail("an escape that is not known");
      return std::nullopt;
    }
    at_ += 4;
    return value;
  }

  bool Number(JsonValue& value) {
    const size_t start = at_;
    Take("-");
    bool right = IsDigit(Peek());
    if (!Take("0")) Digits();
    if (Take(".")) {
      right &= IsDigit(Peek());
      Digits();
    }
    if (Take("e") || Take("E")) {
      if (!Take("+")) Take("-");
      right &= IsDigit(Peek());
      Digits();
    }
    double number = 0;
    if (right) {
      const auto [end, error] =
          std::from_chars(text_.data() + start, text_.data() + at_, number);
      right = error == std::errc() && end == text_.data() + at_;
    }
    if (right && std::isfinite(number)) {
      value = JsonValue(number);
      return true;
    }
    at_ = start;
    return Fail("no number");
  }

  void Digits() {
    while (IsDigit(Peek())) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
  size_t error_at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  const Object* const members = object();
  if (members == nullptr) return nullptr;
  const auto member = members->find(name);
  return member == members->end() ? nullptr : &member->second;
}

const double* JsonValue::FindNumber(std::string_view name) const {
  const JsonValue* const member = Find(name);
  return member == nullptr ? nullptr : member->number();
}

const std::string* JsonValue::FindString(std::string_view name) const {
  const JsonValue* const member = Find(name);
  return member == nullptr ? nullptr : member->string();
}

absl::StatusOr<JsonValue> ParseJson(std::string_view text) {
  return Parser(text).Document();
}

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    size_t length = Utf8Length(text);
    if (length == 0) {
      AppendUtf8(kReplacement, quoted);
      length = 1;
    } else if (byte == '"' || byte == '\\') {
      quoted.push_back('\\');
      quoted.push_back(text[0]);
    } else if (byte == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == '<' || byte == 0x7f) {
      absl::StrAppendFormat(&quoted, "\\u%04x", byte);
    } else {
      quoted += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  quoted.push_back('"');
  return quoted;
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc() ? std::string(buffer.data(), end) : "null";
}

}  // namespace waiter
