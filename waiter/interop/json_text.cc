// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/json_text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"

namespace waiter::internal {
namespace {

constexpr int kMaxDepth = 64;
using Path = std::span<const std::string_view>;

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

std::optional<uint32_t> HexOf(std::string_view digits) {
  if (digits.size() != 4) return std::nullopt;
  uint32_t number = 0;
  for (const char c : digits) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
      return std::nullopt;
    }
    const auto lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    number = number * 16 +
             static_cast<uint32_t>(IsDigit(c) ? c - '0' : lower - 'a' + 10);
  }
  return number;
}

void AppendUtf8(uint32_t point, std::string& text) {
  const auto append = [&text](uint32_t byte) {
    text.push_back(static_cast<char>(byte));
  };
  if (point < 0x80) {
    append(point);
  } else if (point < 0x800) {
    append(0xC0 | (point >> 6));
    append(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    append(0xE0 | (point >> 12));
    append(0x80 | ((point >> 6) & 0x3F));
    append(0x80 | (point & 0x3F));
  } else {
    append(0xF0 | (point >> 18));
    append(0x80 | ((point >> 12) & 0x3F));
    append(0x80 | ((point >> 6) & 0x3F));
    append(0x80 | (point & 0x3F));
  }
}

// Reads the four digits after "\u" at the start of `rest`, and the other half
// of a surrogate pair. A lone half becomes U+FFFD.
uint32_t ReadEscapedPoint(std::string_view& rest) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const std::optional<uint32_t> first = HexOf(rest.substr(0, 4));
  rest.remove_prefix(rest.size() < 4 ? rest.size() : 4);
  if (!first.has_value() || (*first >= 0xDC00 && *first < 0xE000)) {
    return kReplacement;
  }
  if (*first < 0xD800 || *first >= 0xE000) return *first;
  if (rest.substr(0, 2) != "\\u") return kReplacement;
  const std::optional<uint32_t> second = HexOf(rest.substr(2, 4));
  if (!second.has_value() || *second < 0xDC00 || *second >= 0xE000) {
    return kReplacement;
  }
  rest.remove_prefix(6);
  return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
}

// Returns the text of a string in quotes.
std::string Unquoted(std::string_view json) {
  std::string_view rest = json.substr(1, json.size() - 2);
  std::string text;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\' || rest.empty()) {
      text.push_back(c);
      continue;
    }
    const char escaped = rest.front();
    rest.remove_prefix(1);
    constexpr std::string_view kNames = "bfnrt";
    constexpr std::string_view kValues = "\b\f\n\r\t";
    if (escaped == 'u') {
      AppendUtf8(ReadEscapedPoint(rest), text);
    } else if (const size_t at = kNames.find(escaped);
               at != std::string_view::npos) {
      text.push_back(kValues[at]);
    } else {
      text.push_back(escaped);
    }
  }
  return text;
}

// Reads a text from its start. Each function returns false if it finds no JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> Find(Path path) {
    Skip();
    if (!Value(path, /*depth=*/0)) return std::nullopt;
    Skip();
    return rest_.empty() ? found_ : std::nullopt;
  }

  std::vector<std::string_view> Elements() {
    std::vector<std::string_view> elements;
    if (!Take("[")) return elements;
    Skip();
    if (Take("]")) return elements;
    do {
      Skip();
      const std::string_view begin = rest_;
      if (!Value(std::nullopt, /*depth=*/1)) return {};
      elements.push_back(begin.substr(0, begin.size() - rest_.size()));
      Skip();
    } while (Take(","));
    return elements;
  }

 private:
  void Skip() {
    const size_t next = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(next == std::string_view::npos ? rest_.size() : next);
  }

  bool Take(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }

  // Reads a value, and looks for `path` in it.
  bool Value(std::optional<Path> path, int depth) {
    if (rest_.empty()) return false;
    const std::string_view begin = rest_;
    const bool is_wanted = path.has_value() && path->empty();
    if (is_wanted) path.reset();
    if (!Any(path, depth)) return false;
    if (is_wanted) found_ = begin.substr(0, begin.size() - rest_.size());
    return true;
  }

  bool Any(std::optional<Path> path, int depth) {
    switch (rest_.front()) {
      case '{':
        return depth < kMaxDepth && Object(path, depth);
      case '[':
        return depth < kMaxDepth && Array(depth);
      case '"':
        return String();
      case 't':
        return Take("true");
      case 'f':
        return Take("false");
      case 'n':
        return Take("null");
      default:
        return Number();
    }
  }

  bool Object(std::optional<Path> path, int depth) {
    Take("{");
    Skip();
    if (Take("}")) return true;
    do {
      Skip();
      const std::string_view begin = rest_;
      if (!String()) return false;
      const std::string_view name =
          begin.substr(0, begin.size() - rest_.size());
      Skip();
      if (!Take(":")) return false;
      Skip();
      std::optional<Path> next;
      if (path.has_value() && Unquoted(name) == path->front()) {
        next = path->subspan(1);
        found_.reset();
      }
      if (!Value(next, depth + 1)) return false;
      Skip();
    } while (Take(","));
    return Take("}");
  }

  bool Array(int depth) {
    Take("[");
    Skip();
    if (Take("]")) return true;
    do {
      Skip();
      if (!Value(std::nullopt, depth + 1)) return false;
      Skip();
    } while (Take(","));
    return Take("]");
  }

  bool String() {
    if (!Take("\"")) return false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') continue;
      constexpr std::string_view kEscapes = "\"\\/bfnrtu";
      if (rest_.empty() ||
          kEscapes.find(rest_.front()) == std::string_view::npos) {
        return false;
      }
      if (rest_.front() == 'u' && !HexOf(rest_.substr(1, 4)).has_value()) {
        return false;
      }
      rest_.remove_prefix(1);
    }
    return false;
  }

  bool Digits() {
    size_t count = 0;
    while (count < rest_.size() && IsDigit(rest_[count])) ++count;
    rest_.remove_prefix(count);
    return count > 0;
  }

  bool Number() {
    Take("-");
    if (!Take("0") && !Digits()) return false;
    if (Take(".") && !Digits()) return false;
    if (!Take("e") && !Take("E")) return true;
    if (!Take("+")) Take("-");
    return Digits();
  }

  std::string_view rest_;
  std::optional<std::string_view> found_;
};

}  // namespace

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::optional<std::string_view> FindJsonText(
    std::string_view text, std::span<const std::string_view> path) {
  return Scanner(text).Find(path);
}

std::vector<std::string_view> JsonSteps(std::string_view path) {
  std::vector<std::string_view> steps;
  while (true) {
    const size_t dot = path.find('.');
    steps.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

std::vector<std::string_view> JsonElements(std::string_view json) {
  return Scanner(json).Elements();
}

std::string PlainJsonText(std::string_view json) {
  return json.starts_with('"') ? Unquoted(json) : std::string(json);
}

}  // namespace waiter::internal
