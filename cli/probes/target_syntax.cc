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

namespace waiter::cli {

absl::Status Invalid(std::string_view why) {
  return absl::InvalidArgumentError(why);
}

absl::Status InvalidForm(std::string_view why, const Scheme& scheme) {
  return Invalid(absl::StrCat(why, "; write it as ", scheme.example));
}

absl::Status MisplacedAt() {
  return Invalid(
      "an @ after the host; in a password, write / as %2F, ? as %3F, # as "
      "%23 and @ as %40");
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
  UrlParts parts = {.authority = rest.substr(0, end), .path = rest.substr(end)};
  const size_t user_end = parts.authority.rfind('@') + 1;
  parts.has_user = user_end != 0;
  parts.user_info =
      parts.authority.substr(0, std::max<size_t>(user_end, 1) - 1);
  parts.authority.remove_prefix(user_end);
  if (rules.tcp_in_parentheses && absl::EndsWith(parts.authority, ")") &&
      absl::ConsumePrefix(&parts.authority, "tcp(")) {
    parts.authority.remove_suffix(1);
  }
  if (absl::StrContains(parts.authority, ',')) {
    return InvalidForm("a target has one host: give a target for each", scheme);
  }
  absl::StatusOr<HostPort> host_port =
      ParseHostPort(parts.authority, scheme.port);
  // Text that looks like a host and a port may be a user and part of a
  // password, which must not be shown. An @ is common in a query that follows a
  // path.
  std::string_view unlikely = parts.path;
  if (host_port.ok() && absl::StartsWith(parts.path, "/")) {
    unlikely = rules.at_in_path ? std::string_view()
                                : parts.path.substr(0, parts.path.find('?'));
  }
  if (absl::StrContains(unlikely, '@')) return MisplacedAt();
  if (!host_port.ok()) {
    return InvalidForm(std::string(host_port.status().message()), scheme);
  }
  parts.host = std::move(host_port->host);
  parts.port = host_port->port;
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
  if (path.empty()) return InvalidForm("no path", scheme);
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

}  // namespace waiter::cli
