// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace waiter_examples {
namespace {

constexpr std::string_view kSchemeEnd = "://";
constexpr size_t kLongestHost = 255;

bool IsIpV6Address(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool IsHostName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHost &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
         });
}

bool IsPort(std::string_view text, uint16_t& port) {
  uint32_t number = 0;
  if (!std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &number) || number == 0 || number > UINT16_MAX) {
    return false;
  }
  port = static_cast<uint16_t>(number);
  return true;
}

}  // namespace

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  const auto error = [text](std::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat("bad URL \"", absl::CHexEscape(text), "\": ", problem));
  };

  // Other characters would reach the request, where they could end a line.
  if (!std::all_of(text.begin(), text.end(), absl::ascii_isgraph)) {
    return error("spaces, control and non-ASCII characters must be %-escaped");
  }
  const size_t scheme_end = text.find(kSchemeEnd);
  if (scheme_end == std::string_view::npos) {
    return error("it must begin with http://");
  }
  const std::string_view scheme = text.substr(0, scheme_end);
  if (absl::EqualsIgnoreCase(scheme, "https")) {
    return error("https is not supported, only http");
  }
  if (!absl::EqualsIgnoreCase(scheme, "http")) {
    return error("it must begin with http://");
  }

  std::string_view rest = text.substr(scheme_end + kSchemeEnd.size());
  rest = rest.substr(0, rest.find('#'));
  const size_t path_start = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, path_start);
  const std::string_view path = rest.substr(path_start);
  if (absl::StrContains(authority, '@')) {
    return error("a user name or password is not supported");
  }

  Url url;
  if (absl::StartsWith(authority, "[")) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return error(R"("[" without "]")");
    url.host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
    if (!IsIpV6Address(url.host)) {
      return error("the text in brackets is not an IPv6 address");
    }
    if (!authority.empty() && authority.front() != ':') {
      return error(R"(only a port may follow "]")");
    }
  } else {
    const size_t end = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, end);
    authority.remove_prefix(end);
    if (authority.rfind(':') != authority.find(':')) {
      return error("an IPv6 address needs brackets, as in http://[::1]/");
    }
    if (url.host.empty()) return error("the host is missing");
    if (!IsHostName(url.host)) {
      return error(
          "the host is not a name; letters, digits and - . _ form one");
    }
  }

  if (!authority.empty() && !IsPort(authority.substr(1), url.port)) {
    return error("the port must be a number from 1 to 65535");
  }
  url.path =
      absl::StartsWith(path, "/") ? std::string(path) : absl::StrCat("/", path);
  return url;
}

std::string Authority(const Url& url) {
  const bool is_ip_v6 = absl::StrContains(url.host, ':');
  return absl::StrCat(is_ip_v6 ? "[" : "", url.host, is_ip_v6 ? "]" : "",
                      url.port == 80 ? "" : absl::StrCat(":", url.port));
}

}  // namespace waiter_examples
