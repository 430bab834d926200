// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Overloads for `std::string_view` of the functions of Abseil that the command
// calls with one.
//
// The packages of Debian and Ubuntu build Abseil with its own string_view,
// which converts neither from nor to the standard's. The sources of the command
// are written for an Abseil whose string_view is the standard's, as are those
// of Abseil's own users. CMake includes this header before each of them where
// the types differ, and nowhere else: cmake/command.cmake. It is never
// installed.
//
// Every overload needs an argument that is exactly a `std::string_view`, so
// that no call becomes ambiguous.

#ifndef WAITER_CMAKE_OWN_STRING_VIEW_H_
#define WAITER_CMAKE_OWN_STRING_VIEW_H_

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

#ifndef ABSL_USES_STD_STRING_VIEW

namespace absl {
namespace waiter_command {

template <std::same_as<string_view> Own>
string_view ToAbsl(Own text) {
  return text;
}
inline string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view ToStd(string_view text) {
  return {text.data(), text.size()};
}

template <typename T>
concept StdView = std::same_as<T, std::string_view>;

template <typename... T>
concept HasStdView = (StdView<T> || ...);

template <typename T>
const T& Adapt(const T& value) {
  return value;
}
inline string_view Adapt(const std::string_view& text) { return ToAbsl(text); }

// The result of StrSplit(). Converts like the original, except that the pieces
// are `std::string_view`.
class Pieces {
 public:
  explicit Pieces(std::vector<string_view> pieces) {
    pieces_.reserve(pieces.size());
    for (const string_view piece : pieces) pieces_.push_back(ToStd(piece));
  }

  auto begin() const { return pieces_.begin(); }
  auto end() const { return pieces_.end(); }

  // NOLINTBEGIN(google-explicit-constructor): as the original.
  operator std::vector<std::string_view>() const { return pieces_; }
  operator std::pair<std::string_view, std::string_view>() const {
    return {pieces_[0], pieces_.size() > 1 ? pieces_[1] : std::string_view()};
  }
  // NOLINTEND(google-explicit-constructor)

 private:
  std::vector<std::string_view> pieces_;
};

}  // namespace waiter_command

template <typename... T>
requires waiter_command::HasStdView<T...> std::string StrCat(
    const T&... parts) {
  return StrCat(waiter_command::Adapt(parts)...);
}

template <typename... T>
requires waiter_command::HasStdView<T...>
void StrAppend(std::string* out, const T&... parts) {
  StrAppend(out, waiter_command::Adapt(parts)...);
}

template <typename Range>
requires waiter_command::StdView<typename Range::value_type> std::string
StrJoin(const Range& range, string_view separator) {
  return StrJoin(range, separator, [](std::string* out, std::string_view text) {
    out->append(text);
  });
}

template <waiter_command::StdView S, typename Delimiter>
waiter_command::Pieces StrSplit(S text, Delimiter delimiter) {
  return waiter_command::Pieces(
      StrSplit(waiter_command::ToAbsl(text), std::move(delimiter)));
}

template <waiter_command::StdView S>
std::string StrReplaceAll(
    S text,
    std::initializer_list<std::pair<string_view, string_view>> replacements) {
  return StrReplaceAll(waiter_command::ToAbsl(text), replacements);
}

template <typename A, typename B>
requires waiter_command::HasStdView<A, B>
bool StartsWith(const A& text, const B& prefix) {
  return StartsWith(waiter_command::ToAbsl(text),
                    waiter_command::ToAbsl(prefix));
}

template <typename A, typename B>
requires waiter_command::HasStdView<A, B>
bool EndsWith(const A& text, const B& suffix) {
  return EndsWith(waiter_command::ToAbsl(text), waiter_command::ToAbsl(suffix));
}

template <typename A, typename B>
requires waiter_command::HasStdView<A, B>
bool StrContains(const A& text, const B& part) {
  return std::string_view(text).find(part) != std::string_view::npos;
}

template <typename A, typename B>
requires waiter_command::HasStdView<A, B>
bool EqualsIgnoreCase(const A& a, const B& b) {
  return EqualsIgnoreCase(waiter_command::ToAbsl(a), waiter_command::ToAbsl(b));
}

template <typename A, typename B>
requires waiter_command::HasStdView<A, B>
bool StartsWithIgnoreCase(const A& text, const B& prefix) {
  return StartsWithIgnoreCase(waiter_command::ToAbsl(text),
                              waiter_command::ToAbsl(prefix));
}

inline bool ConsumeSuffix(std::string_view* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

inline bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

template <waiter_command::StdView S>
S StripPrefix(S text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

template <waiter_command::StdView S>
S StripSuffix(S text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

template <waiter_command::StdView S>
S StripLeadingAsciiWhitespace(S text) {
  return waiter_command::ToStd(
      StripLeadingAsciiWhitespace(waiter_command::ToAbsl(text)));
}

template <waiter_command::StdView S>
S StripTrailingAsciiWhitespace(S text) {
  return waiter_command::ToStd(
      StripTrailingAsciiWhitespace(waiter_command::ToAbsl(text)));
}

template <waiter_command::StdView S>
S StripAsciiWhitespace(S text) {
  return waiter_command::ToStd(
      StripAsciiWhitespace(waiter_command::ToAbsl(text)));
}

template <waiter_command::StdView S>
std::string AsciiStrToLower(S text) {
  return AsciiStrToLower(waiter_command::ToAbsl(text));
}

template <waiter_command::StdView S>
std::string AsciiStrToUpper(S text) {
  return AsciiStrToUpper(waiter_command::ToAbsl(text));
}

template <waiter_command::StdView S>
std::string HexStringToBytes(S digits) {
  return HexStringToBytes(waiter_command::ToAbsl(digits));
}

template <waiter_command::StdView S, typename Number>
bool SimpleAtoi(S text, Number* value) {
  return SimpleAtoi(waiter_command::ToAbsl(text), value);
}

template <waiter_command::StdView S>
bool SimpleAtod(S text, double* value) {
  return SimpleAtod(waiter_command::ToAbsl(text), value);
}

template <waiter_command::StdView S>
bool SimpleAtob(S text, bool* value) {
  return SimpleAtob(waiter_command::ToAbsl(text), value);
}

template <waiter_command::StdView S>
bool ParseDuration(S text, Duration* value) {
  return ParseDuration(waiter_command::ToAbsl(text), value);
}

template <waiter_command::StdView S>
Status InvalidArgumentError(S message) {
  return InvalidArgumentError(waiter_command::ToAbsl(message));
}

}  // namespace absl

#endif  // ABSL_USES_STD_STRING_VIEW

#endif  // WAITER_CMAKE_OWN_STRING_VIEW_H_
