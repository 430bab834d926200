// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/text/ascii_host.h"

namespace waiter::cli {
namespace {

bool IsIpv6(std::string_view host) {
  in6_addr address;
  // The name of an interface may follow after %.
  const std::string bare(host.substr(0, host.find('%')));
  return inet_pton(AF_INET6, bare.c_str(), &address) == 1;
}

absl::StatusOr<uint16_t> ParsePort(std::string_view text) {
  uint32_t port = 0;
  if (!IsDigits(text) || !absl::SimpleAtoi(text, &port) || port < 1 ||
      port > std::numeric_limits<uint16_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the port must be a number from 1 to 65535, not \"", text, "\""));
  }
  return static_cast<uint16_t>(port);
}

// Splits `text` into the host and, if there is one, the port.
absl::Status Split(std::string_view text, std::string_view& host,
                   std::optional<std::string_view>& port) {
  size_t colon = 0;
  if (absl::StartsWith(text, "[")) {
    const size_t end = text.find(']');
    host = text.substr(1, end - 1);
    if (end == std::string_view::npos || !IsIpv6(host)) {
      return absl::InvalidArgumentError(
          "the brackets must hold an IPv6 address, as in [::1]:8080");
    }
    colon = end + 1;
    if (colon < text.size() && text[colon] != ':') {
      return absl::InvalidArgumentError("only a port may follow the brackets");
    }
  } else {
    colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    if (text.find(':', colon + 1) != std::string_view::npos) {
      return absl::InvalidArgumentError(
          "an IPv6 address needs brackets, as in [::1]:8080");
    }
  }
  if (colon < text.size()) port = text.substr(colon + 1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view text,
                                       uint16_t default_port) {
  if (absl::StrContains(text, '@')) {
    return absl::InvalidArgumentError("leave out the user and password");
  }
  std::string_view host;
  std::optional<std::string_view> port;
  if (const absl::Status status = Split(text, host, port); !status.ok()) {
    return status;
  }
  if (host.empty()) return absl::InvalidArgumentError("the host is missing");
  if (host.size() > kLongestHost) {
    return absl::InvalidArgumentError("the host is longer than 253 characters");
  }
  if (std::any_of(host.begin(), host.end(), IsBlankOrControl)) {
    return absl::InvalidArgumentError(
        "the host contains a blank or a control character");
  }
  if (!port.has_value() && default_port == 0) {
    return absl::InvalidArgumentError("the port is missing");
  }
  const absl::StatusOr<uint16_t> number =
      port.has_value() ? ParsePort(*port) : default_port;
  if (!number.ok()) return number.status();
  absl::StatusOr<std::string> ascii = AsciiHost(host);
  if (!ascii.ok()) return ascii.status();
  return HostPort{.host = *std::move(ascii), .port = *number};
}

bool IsBlankOrControl(char c) {
  return c == ' ' || absl::ascii_iscntrl(static_cast<unsigned char>(c));
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

}  // namespace waiter::cli
