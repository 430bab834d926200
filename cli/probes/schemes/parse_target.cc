// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/schemes/parse_target.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/probes/host_port.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/schemes.h"
#include "cli/probes/target.h"
#include "cli/probes/target_syntax.h"
#include "cli/text/closest_name.h"
#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

bool IsLabel(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), IsLabelCharacter);
}

// Returns whether `text` ends with a colon and a number, and contains nothing
// that a host does not.
bool IsHostAndPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 &&
         (text[0] == '[' || text.find(':') == colon) &&
         IsDigits(text.substr(colon + 1)) &&
         text.find_first_of("/?#@=") == std::string_view::npos;
}

// Returns whether `text` is HOST:PORT. The host may be called like a scheme, as
// in redis:6379, except where a number may follow the scheme. An engine in its
// own container is often at docker:2375; few containers are called so, and
// their ids are longer.
bool IsBareTcp(std::string_view text) {
  constexpr size_t kLongestPort = 5;
  const Scheme* const scheme = FindScheme(text);
  const bool may_be_host =
      scheme == nullptr || scheme->IsUrl() ||
      (scheme->may_be_host &&
       text.size() <= scheme->name.size() + 1 + kLongestPort);
  return may_be_host && IsHostAndPort(text);
}

// Splits `argument` into a label, if it has one, and the rest.
std::pair<std::string_view, std::string_view> SplitLabel(
    std::string_view argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos ||
      !IsLabel(argument.substr(0, equals))) {
    return {"", argument};
  }
  const std::string_view rest = argument.substr(equals + 1);
  if (SchemeLength(rest) == 0 && !IsHostAndPort(rest)) return {"", argument};
  return {argument.substr(0, equals), rest};
}

// Returns `url` without user, password and query.
std::string ShownUrl(std::string_view url) {
  const size_t begin = std::min(url.find("://"), url.size() - 3) + 3;
  const std::string_view rest = url.substr(begin);
  const std::string_view authority =
      rest.substr(0, std::min(rest.find_first_of("/?#"), rest.size()));
  const std::string_view shown = rest.substr(authority.rfind('@') + 1);
  const size_t query = shown.find_first_of("?#");
  return absl::StrCat(url.substr(0, begin), shown.substr(0, query),
                      query == std::string_view::npos ? "" : "?...");
}

// Returns the error for `text`, which has no known scheme.
absl::Status NoScheme(std::string_view text) {
  size_t length = SchemeLength(text);
  if (!absl::StartsWith(text.substr(length), "://")) {
    // The user and password of a URL without a scheme.
    text.remove_prefix(text.rfind('@') + 1);
    length = SchemeLength(text);
  }
  const size_t slash = std::min(text.find('/'), text.size());
  if (IsHostAndPort(text.substr(0, slash))) {
    return Invalid(absl::StrCat("no scheme; write it as ",
                                slash == text.size() ? "tcp" : "http", "://",
                                text.substr(0, text.find('?'))));
  }
  if (absl::StartsWith(text, "/") || absl::StartsWith(text, ".")) {
    return Invalid(absl::StrCat("no scheme; write it as file:",
                                text.substr(0, text.find('?'))));
  }
  if (absl::EqualsIgnoreCase(text.substr(0, length), "mongodb+srv")) {
    return Invalid(
        "the name has SRV records instead of an address; write one of its "
        "hosts as mongodb://HOST");
  }
  std::vector<std::string> names;
  for (const Scheme* row : AllSchemes()) names.emplace_back(row->name);
  if (const std::string closest = ClosestName(text.substr(0, length), names);
      !closest.empty()) {
    return Invalid(absl::StrCat("unknown scheme ", text.substr(0, length),
                                "; did you mean ", closest, "?"));
  }
  const std::string known = absl::StrJoin(names, ", ");
  if (length == 0) {
    return Invalid(absl::StrCat(
        "no scheme; write it as tcp://HOST:PORT, or with one of: ", known));
  }
  return Invalid(absl::StrCat("unknown scheme ", text.substr(0, length),
                              "; the schemes are: ", known));
}

absl::StatusOr<Target> Parse(std::string_view argument) {
  Target target;
  const auto [label, text] = SplitLabel(argument);
  target.label = std::string(label);
  target.text = std::string(text);
  absl::Status status;
  if (IsBareTcp(text)) {
    target.scheme = FindScheme("tcp:");
    status =
        target.scheme->parse(absl::StrCat("//", text), *target.scheme, target);
  } else {
    const Scheme* const scheme = FindScheme(text);
    if (scheme == nullptr) return NoScheme(text);
    target.scheme = scheme;
    if (scheme->IsUrl()) target.text = ShownUrl(text);
    status =
        scheme->parse(text.substr(SchemeLength(text) + 1), *scheme, target);
  }
  if (!status.ok()) return status;
  if (target.label.empty()) target.label = target.text;
  return target;
}

}  // namespace

std::string WithoutSecrets(std::string_view argument) {
  const auto [label, text] = SplitLabel(argument);
  const Scheme* const scheme = FindScheme(text);
  if (scheme != nullptr && !scheme->IsUrl()) return std::string(argument);
  // In a wrong URL, a password may contain anything.
  std::string_view shown = text.substr(text.rfind('@') + 1);
  const size_t query = shown.find_first_of("?#");
  const std::string_view kept = text.substr(
      0, shown.size() == text.size() || scheme == nullptr
             ? 0
             : SchemeLength(text) + (absl::StrContains(text, "://") ? 3 : 1));
  return absl::StrCat(argument.substr(0, label.empty() ? 0 : label.size() + 1),
                      kept, shown.substr(0, query),
                      query == std::string_view::npos ? "" : "?...");
}

absl::StatusOr<Target> ParseTarget(std::string_view argument) {
  absl::StatusOr<Target> target = Parse(argument);
  if (target.ok()) return target;
  return Invalid(Printable(
      absl::StrCat(WithoutSecrets(argument), ": ", target.status().message())));
}

}  // namespace waiter::cli
