// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/redis_url.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

constexpr int kHighestDatabase = 1'000'000;

absl::Status Invalid(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Redis URL: ", ToAbsl(what),
      "; the form is redis://[user:password@]host[:port][/database]"));
}

// Returns nullopt if a % is not followed by two digits.
std::optional<std::string> Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    if (text.size() - i < 3 ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      return std::nullopt;
    }
    plain += absl::HexStringToBytes(ToAbsl(text.substr(i + 1, 2)));
    i += 2;
  }
  return plain;
}

bool ParseNumber(std::string_view text, int lowest, int highest, int& number) {
  int parsed = 0;
  if (text.empty() ||
      text.find_first_not_of("0123456789") != std::string_view::npos ||
      !absl::SimpleAtoi(ToAbsl(text), &parsed) || parsed < lowest ||
      parsed > highest) {
    return false;
  }
  number = parsed;
  return true;
}

absl::Status ParseSecret(std::string_view text, RedisUrl& url) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return Invalid("there is no :PASSWORD after the user, which is not shown");
  }
  const std::optional<std::string> user = Unescape(text.substr(0, colon));
  const std::optional<std::string> password = Unescape(text.substr(colon + 1));
  if (!user.has_value() || !password.has_value()) {
    return Invalid(
        "a % in the user or password must begin an escape, such as %40");
  }
  if (password->empty()) return Invalid("the password is empty");
  url.user = *user;
  url.password = *password;
  return absl::OkStatus();
}

absl::Status ParseAddress(std::string_view text, RedisUrl& url) {
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return Invalid("a ] is missing");
    url.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const size_t colon = text.find(':');
    url.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (url.host.empty()) return Invalid("the host is missing");
  // Messages have the host, and parameters may have secrets.
  if (url.host.find_first_of("?#&= ") != std::string::npos) {
    return Invalid("invalid character in host");
  }
  if (port.empty()) return absl::OkStatus();
  if (port.front() != ':' || !ParseNumber(port.substr(1), 1, 65535, url.port)) {
    return Invalid("the port must be within [1, 65535]");
  }
  return absl::OkStatus();
}

}  // namespace

std::string RedisUrl::Address() const {
  const bool is_ipv6 = absl::StrContains(host, ':');
  return is_ipv6 ? absl::StrCat("[", host, "]:", port)
                 : absl::StrCat(host, ":", port);
}

absl::StatusOr<RedisUrl> ParseRedisUrl(std::string_view url) {
  constexpr std::string_view kScheme = "redis://";
  if (absl::StartsWith(ToAbsl(url), "rediss://")) {
    return Invalid("TLS (rediss) is not supported");
  }
  if (!absl::StartsWith(ToAbsl(url), ToAbsl(kScheme))) {
    return Invalid("it must begin with redis://");
  }
  std::string_view rest = url.substr(kScheme.size());
  RedisUrl parsed;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    absl::Status status = ParseSecret(rest.substr(0, at), parsed);
    if (!status.ok()) return status;
    rest = rest.substr(at + 1);
  }
  const size_t slash = rest.find('/');
  if (absl::Status status = ParseAddress(rest.substr(0, slash), parsed);
      !status.ok()) {
    return status;
  }
  if (slash != std::string_view::npos && slash + 1 < rest.size() &&
      !ParseNumber(rest.substr(slash + 1), 0, kHighestDatabase,
                   parsed.database)) {
    return Invalid("the database must be a number");
  }
  return parsed;
}

}  // namespace waiter::internal
