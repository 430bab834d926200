// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/target.h"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/probes/host_port.h"
#include "cli/text/duration_text.h"
#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

struct SchemeForm {
  std::string_view name;
  Scheme scheme;
  uint16_t port;  // If none is given; 0: one must be. Of those with a host.
  std::string_view example;
};

constexpr std::array<SchemeForm, 13> kSchemes = {{
    {"tcp", Scheme::kTcp, 0, "tcp://localhost:8080"},
    {"unix", Scheme::kUnix, 0, "unix:/run/app.sock"},
    {"http", Scheme::kHttp, 80, "http://localhost:8080/health"},
    {"https", Scheme::kHttps, 443, "https://example.com/health"},
    {"dns", Scheme::kDns, 0, "dns:example.com?type=MX"},
    {"file", Scheme::kFile, 0, "file:build/app.o?stable=2s"},
    {"redis", Scheme::kRedis, 6379, "redis://localhost:6379"},
    {"postgres", Scheme::kPostgres, 5432, "postgres://localhost:5432"},
    {"postgresql", Scheme::kPostgres, 5432, "postgresql://localhost:5432"},
    {"mysql", Scheme::kMysql, 3306, "mysql://localhost:3306"},
    {"mariadb", Scheme::kMysql, 3306, "mariadb://localhost:3306"},
    {"pid", Scheme::kPid, 0, "pid:4711"},
    {"exec", Scheme::kExec, 0, "exec:'pg_isready -q'"},
}};

constexpr std::array<std::string_view, 10> kDnsTypes = {
    "A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"};

absl::Status Invalid(std::string_view why) {
  return absl::InvalidArgumentError(why);
}

absl::Status InvalidForm(std::string_view why, const SchemeForm& form) {
  return Invalid(absl::StrCat(why, "; write it as ", form.example));
}

bool IsLabel(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '.' || c == '-';
  });
}

// Returns the length of the scheme that `text` begins with, without its colon;
// 0 if there is none.
size_t SchemeLength(std::string_view text) {
  const size_t colon = text.find(':');
  return colon != std::string_view::npos && IsLabel(text.substr(0, colon)) &&
                 absl::ascii_isalpha(static_cast<unsigned char>(text[0]))
             ? colon
             : 0;
}

// For what has no scheme that is known.
absl::Status NoScheme(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const size_t colon = text.substr(0, slash).rfind(':');
  if (colon != std::string_view::npos && colon > 0 &&
      IsDigits(text.substr(colon + 1, slash - colon - 1))) {
    return Invalid(absl::StrCat("no scheme; write it as ",
                                slash == text.size() ? "tcp" : "http", "://",
                                text));
  }
  if (absl::StartsWith(text, "/") || absl::StartsWith(text, ".")) {
    return Invalid(absl::StrCat("no scheme; write it as file:", text));
  }
  const std::string known =
      absl::StrJoin(kSchemes, ", ", [](std::string* out, const SchemeForm& s) {
        absl::StrAppend(out, s.name);
      });
  const size_t length = SchemeLength(text);
  if (length == 0) {
    return Invalid(absl::StrCat(
        "no scheme; write it as tcp://HOST:PORT, or with one of: ", known));
  }
  return Invalid(absl::StrCat("unknown scheme ", text.substr(0, length),
                              "; the schemes are: ", known));
}

absl::Status ReadUrl(std::string_view rest, const SchemeForm& form,
                     Target& target) {
  if (!absl::ConsumePrefix(&rest, "//")) {
    return InvalidForm(absl::StrCat("no // after ", form.name, ":"), form);
  }
  const bool is_http =
      form.scheme == Scheme::kHttp || form.scheme == Scheme::kHttps;
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  if (is_http) authority.remove_prefix(authority.rfind('@') + 1);
  absl::StatusOr<HostPort> host_port = ParseHostPort(authority, form.port);
  if (!host_port.ok()) return InvalidForm(host_port.status().message(), form);
  target.host = std::move(host_port->host);
  target.port = host_port->port;
  const std::string_view path = rest.substr(end);
  if (!is_http) {
    return path.empty() ? absl::OkStatus()
                        : InvalidForm("nothing may follow host and port", form);
  }
  if (std::any_of(path.begin(), path.end(), IsBlankOrControl)) {
    return Invalid(
        "a blank or a control character in the URL; write a blank as %20");
  }
  // What follows # is for browsers.
  target.path = absl::StrCat(absl::StartsWith(path, "/") ? "" : "/",
                             path.substr(0, path.find('#')));
  return absl::OkStatus();
}

// Reads `rest` up to `?` into `value`, and the one parameter that there may be
// into `parameter`.
absl::Status ReadParameter(std::string_view rest, std::string_view name,
                           const SchemeForm& form, std::string& value,
                           std::string_view& parameter) {
  const size_t mark = rest.find('?');
  value = std::string(rest.substr(0, mark));
  if (mark == std::string_view::npos) return absl::OkStatus();
  const std::pair<std::string_view, std::string_view> given =
      absl::StrSplit(rest.substr(mark + 1), absl::MaxSplits('=', 1));
  if (given.first != name) {
    return InvalidForm(absl::StrCat("unknown parameter \"", given.first,
                                    "\", only ", name, " is known"),
                       form);
  }
  if (given.second.empty()) {
    return InvalidForm(absl::StrCat(name, " has no value"), form);
  }
  parameter = given.second;
  return absl::OkStatus();
}

absl::Status ReadDns(std::string_view rest, const SchemeForm& form,
                     Target& target) {
  std::string_view type;
  if (absl::Status status =
          ReadParameter(rest, "type", form, target.host, type);
      !status.ok()) {
    return status;
  }
  if (target.host.empty()) return InvalidForm("no name", form);
  if (target.host.size() > kLongestHost) {
    return InvalidForm("the name is longer than 253 characters", form);
  }
  if (std::any_of(target.host.begin(), target.host.end(), [](char c) {
        return IsBlankOrControl(c) || c == '/' || c == ':';
      })) {
    return InvalidForm("no name of DNS", form);
  }
  target.dns_type = absl::AsciiStrToUpper(type);
  if (!type.empty() && std::find(kDnsTypes.begin(), kDnsTypes.end(),
                                 target.dns_type) == kDnsTypes.end()) {
    return Invalid(absl::StrCat("unknown type ", type, "; the types are: ",
                                absl::StrJoin(kDnsTypes, ", ")));
  }
  return absl::OkStatus();
}

// Reads a path, as /a, a/b, or ///a for /a.
absl::Status ReadPath(const SchemeForm& form, Target& target) {
  if (absl::StartsWith(target.path, "//")) {
    if (!absl::StartsWith(target.path, "///")) {
      return InvalidForm("a path has no host", form);
    }
    target.path.erase(0, 2);
  }
  if (target.path.empty()) return InvalidForm("no path", form);
  if (absl::StrContains(target.path, '\0')) {
    return InvalidForm("a zero in the path", form);
  }
  return absl::OkStatus();
}

absl::Status ReadFile(std::string_view rest, const SchemeForm& form,
                      Target& target) {
  std::string_view stable;
  absl::Status status =
      ReadParameter(rest, "stable", form, target.path, stable);
  if (status.ok() && !stable.empty()) {
    const absl::StatusOr<absl::Duration> duration = ParseDurationText(stable);
    if (!duration.ok()) {
      return Invalid(
          absl::StrCat("stable=", stable, ": ", duration.status().message()));
    }
    target.stable = *duration;
  }
  return status.ok() ? ReadPath(form, target) : status;
}

absl::Status ReadUnix(std::string_view rest, const SchemeForm& form,
                      Target& target) {
  target.path = std::string(rest);
  if (absl::Status status = ReadPath(form, target); !status.ok()) {
    return status;
  }
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  return target.path.size() <= kLongest
             ? absl::OkStatus()
             : Invalid(absl::StrCat("the path of a socket has at most ",
                                    kLongest,
                                    " characters; write a relative one"));
}

absl::Status ReadRest(std::string_view rest, const SchemeForm& form,
                      Target& target) {
  switch (form.scheme) {
    case Scheme::kUnix:
      return ReadUnix(rest, form, target);
    case Scheme::kDns:
      return ReadDns(rest, form, target);
    case Scheme::kFile:
      return ReadFile(rest, form, target);
    case Scheme::kPid:
      return IsDigits(rest) && absl::SimpleAtoi(rest, &target.pid) &&
                     target.pid >= 1
                 ? absl::OkStatus()
                 : InvalidForm("no process number, which is 1 or more", form);
    case Scheme::kExec:
      target.path = std::string(rest);
      return absl::StripAsciiWhitespace(rest).empty()
                 ? InvalidForm("no command", form)
                 : absl::OkStatus();
    default:
      return ReadUrl(rest, form, target);
  }
}

absl::StatusOr<Target> Parse(std::string_view argument) {
  Target target;
  std::string_view text = argument;
  const size_t equals = argument.find('=');
  if (equals != std::string_view::npos && IsLabel(argument.substr(0, equals)) &&
      SchemeLength(argument.substr(equals + 1)) > 0) {
    target.label = std::string(argument.substr(0, equals));
    text = argument.substr(equals + 1);
  }
  const size_t length = SchemeLength(text);
  const std::string name = absl::AsciiStrToLower(text.substr(0, length));
  const auto* const form =
      std::find_if(kSchemes.begin(), kSchemes.end(),
                   [&](const SchemeForm& known) { return known.name == name; });
  if (form == kSchemes.end()) return NoScheme(text);
  target.scheme = form->scheme;
  if (form->scheme == Scheme::kHttp || form->scheme == Scheme::kHttps) {
    target.url = std::string(text);
  }
  target.text = target.url.empty() ? std::string(text) : WithoutUser(text);
  if (target.label.empty()) target.label = target.text;
  const absl::Status status = ReadRest(text.substr(length + 1), *form, target);
  if (!status.ok()) return status;
  return target;
}

}  // namespace

std::string WithoutUser(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const size_t begin = scheme + 3;
  const size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const size_t at = url.substr(begin, end - begin).rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  return absl::StrCat(url.substr(0, begin), url.substr(begin + at + 1));
}

absl::StatusOr<Target> ParseTarget(std::string_view argument) {
  absl::StatusOr<Target> target = Parse(argument);
  if (target.ok()) return target;
  return Invalid(Printable(
      absl::StrCat(WithoutUser(argument), ": ", target.status().message())));
}

}  // namespace waiter::cli
