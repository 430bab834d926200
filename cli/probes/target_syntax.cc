// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/target_syntax.h"

#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/probes/scheme.h"
#include "cli/text/ascii_host.h"
#include "cli/text/percent.h"
#include "cli/text/text_regex.h"

namespace waiter::cli {

absl::Status Invalid(std::string_view why) {
  return absl::InvalidArgumentError(why);
}

absl::Status InvalidForm(std::string_view why, const Scheme& scheme) {
  return Invalid(absl::StrCat(why, "; write it as ", scheme.example));
}

absl::Status NoSlashes(std::string_view rest, const Scheme& scheme) {
  const std::string why = absl::StrCat("no // after ", scheme.name, ":");
  std::string_view host =
      rest.substr(std::min(rest.find_first_not_of('/'), rest.size()));
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.empty() || absl::StrContains(rest, '@')) {
    return InvalidForm(why, scheme);
  }
  return Invalid(absl::StrCat(why, "; write it as ", scheme.name, "://", host));
}

bool IsLabelCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-';
}

absl::StatusOr<UrlParts> ReadUrl(std::string_view rest, const Scheme& scheme,
                                 UrlRules rules) {
  if (!absl::ConsumePrefix(&rest, "//")) return NoSlashes(rest, scheme);
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  UrlParts parts = {.path = rest.substr(end)};
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::pair<std::string_view, std::string_view> login =
        absl::StrSplit(authority.substr(0, at), absl::MaxSplits(':', 1));
    parts.has_user = true;
    parts.user = PercentDecoded(login.first);
    parts.password = PercentDecoded(login.second);
    authority.remove_prefix(at + 1);
  }
  // A host and a path may really be parts of a user and a password, which must
  // not be shown.
  if (const size_t at = parts.path.rfind('@'); at != std::string_view::npos) {
    const bool is_path =
        rules.at_in_path && !parts.has_user &&
        absl::StartsWith(parts.path, "/") &&
        !absl::StrContains(parts.path.substr(0, at), ':') &&
        (rules.any_authority ? !absl::StrContains(authority, ':')
                             : ParseHostPort(authority, scheme.port).ok());
    if (!is_path) {
      return Invalid(
          "there is an @ after the host; write it as %40, and in a password, "
          "write / as %2F, ? as %3F, # as %23 and @ as %40");
    }
  }
  if (rules.tcp_in_parentheses && absl::EndsWith(authority, ")") &&
      absl::ConsumePrefix(&authority, "tcp(")) {
    authority.remove_suffix(1);
  }
  parts.authority = std::string(authority);
  if (rules.any_authority) return parts;
  if (!rules.many_hosts && absl::StrContains(authority, ',')) {
    return InvalidForm(
        "a target must have one host; give each host its own target", scheme);
  }
  for (const std::string_view each : absl::StrSplit(authority, ',')) {
    absl::StatusOr<HostPort> host_port = ParseHostPort(each, scheme.port);
    if (!host_port.ok()) {
      return InvalidForm(std::string(host_port.status().message()), scheme);
    }
    if (parts.host.empty()) {
      parts.host = std::move(host_port->host);
      parts.port = host_port->port;
    } else {
      parts.more_hosts.emplace_back(std::move(host_port->host),
                                    host_port->port);
    }
  }
  if (!IsAscii(authority)) {
    parts.authority = absl::StrCat(parts.host, ":", parts.port);
  }
  return parts;
}

absl::StatusOr<std::string> RequestPath(std::string_view path) {
  if (std::any_of(path.begin(), path.end(), IsBlankOrControl)) {
    return Invalid(
        "the URL contains a blank or a control character; write a blank as "
        "%20");
  }
  // The fragment, which follows after #, is not part of a request.
  return absl::StrCat(absl::StartsWith(path, "/") ? "" : "/",
                      path.substr(0, path.find('#')));
}

absl::Status CheckSocketPath(std::string_view path) {
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  return path.size() <= kLongest
             ? absl::OkStatus()
             : Invalid(absl::StrCat("a socket path has at most ", kLongest,
                                    " characters; use a relative path"));
}

absl::Status ReadPath(const Scheme& scheme, std::string& path) {
  if (absl::StartsWith(path, "//")) {
    if (!absl::StartsWith(path, "///")) {
      return InvalidForm("a path must not have a host", scheme);
    }
    path.erase(0, 2);
  }
  if (path.empty()) return InvalidForm("the path is missing", scheme);
  if (absl::StrContains(path, '\0')) {
    return InvalidForm("the path contains a zero byte", scheme);
  }
  return absl::OkStatus();
}

absl::Status ReadParameters(std::string_view rest, const Scheme& scheme,
                            std::string& value,
                            absl::Span<Parameter> parameters) {
  const size_t mark = rest.find('?');
  value = std::string(rest.substr(0, mark));
  if (mark == std::string_view::npos) return absl::OkStatus();
  for (const std::string_view text :
       absl::StrSplit(rest.substr(mark + 1), '&')) {
    const std::pair<std::string_view, std::string_view> given =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    auto* const known = std::find_if(
        parameters.begin(), parameters.end(),
        [&](const Parameter& each) { return each.name == given.first; });
    if (known == parameters.end()) {
      const std::string names = absl::StrJoin(
          parameters, ", ", [](std::string* out, const Parameter& each) {
            absl::StrAppend(out, each.name);
          });
      return InvalidForm(
          absl::StrCat("unknown parameter \"", given.first, "\", only ", names,
                       parameters.size() == 1 ? " is" : " are", " known"),
          scheme);
    }
    if (given.second.empty()) {
      return InvalidForm(absl::StrCat(given.first, " has no value"), scheme);
    }
    if (!known->value.empty()) {
      return InvalidForm(absl::StrCat(given.first, " is given twice"), scheme);
    }
    known->value = given.second;
  }
  return absl::OkStatus();
}

absl::Status CheckMatch(std::string_view pattern) {
  const absl::StatusOr<TextRegex> regex = TextRegex::Parse(pattern);
  return regex.ok()
             ? absl::OkStatus()
             : Invalid(absl::StrCat("match: ", regex.status().message()));
}

}  // namespace waiter::cli
