// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/http_url.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"
#include "waiter/interop/printable.h"

namespace waiter::internal {
namespace {

constexpr size_t kMaxShownUrl = 200;

// Returns the length of the scheme at the start of `text`, or 0.
size_t SchemeLength(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return 0;
  const std::string_view scheme = text.substr(0, colon);
  const bool is_scheme =
      absl::ascii_isalpha(static_cast<unsigned char>(scheme.front())) &&
      std::all_of(scheme.begin(), scheme.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
               c == '-' || c == '.';
      });
  return is_scheme ? colon : 0;
}

absl::Status CheckText(std::string_view text) {
  if (text.size() > HttpUrl::kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("the address has ", text.size(), " bytes; the limit is ",
                     HttpUrl::kMaxSize));
  }
  if (std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '\x7F' || c == '\\';
      })) {
    return absl::InvalidArgumentError(
        "the address has a blank, a backslash or a control character");
  }
  return absl::OkStatus();
}

// Removes "." and ".." (RFC 3986, 5.2.4).
std::string WithoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  path.remove_prefix(
      std::min<size_t>(path.starts_with('/') ? 1 : 0, path.size()));
  bool ends_in_folder = false;
  while (true) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    const bool is_last = end == path.size();
    ends_in_folder = part == "." || part == "..";
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (part != ".") {
      kept.push_back(part);
    }
    if (is_last) break;
    path.remove_prefix(end + 1);
  }
  std::string result;
  for (const std::string_view part : kept) {
    absl::StrAppend(&result, "/", ToAbsl(part));
  }
  if (ends_in_folder || result.empty()) result.push_back('/');
  return result;
}

// Returns `text` with non-ASCII bytes encoded as browsers do.
std::string Encoded(std::string_view text) {
  return PercentEncoded(text, [](unsigned char byte) { return byte < 0x80; });
}

bool IsAuthority(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
  });
}

// Reads "HOST/PATH?QUERY#FRAGMENT" into `url`, which has a scheme.
absl::Status ReadAfterSlashes(std::string_view text, HttpUrl& url) {
  const size_t end = std::min(text.find_first_of("/?#"), text.size());
  std::string_view authority = text.substr(0, end);
  const size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    url.user_info = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  if (authority.empty() || authority.starts_with(':')) {
    return absl::InvalidArgumentError("the address has no host");
  }
  if (!IsAuthority(authority)) {
    return absl::InvalidArgumentError(
        "the host of the address has an invalid character");
  }
  url.authority = absl::AsciiStrToLower(ToAbsl(authority));
  text.remove_prefix(end);
  text = text.substr(0, text.find('#'));
  const size_t query = std::min(text.find('?'), text.size());
  url.path = Encoded(WithoutDots(text.substr(0, query)));
  url.query = Encoded(text.substr(query));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HttpUrl> HttpUrl::Parse(std::string_view text) {
  if (absl::Status status = CheckText(text); !status.ok()) return status;
  const size_t colon = SchemeLength(text);
  HttpUrl url;
  url.scheme = absl::AsciiStrToLower(ToAbsl(text.substr(0, colon)));
  if (url.scheme != "http" && url.scheme != "https") {
    return absl::InvalidArgumentError(
        absl::StrCat("the address must be http or https, but its scheme is \"",
                     PrintableAscii(url.scheme, kMaxShownUrl), "\""));
  }
  text.remove_prefix(colon + 1);
  if (!text.starts_with("//")) {
    return absl::InvalidArgumentError("the address has no host");
  }
  absl::Status status = ReadAfterSlashes(text.substr(2), url);
  if (!status.ok()) return status;
  return url;
}

absl::StatusOr<HttpUrl> HttpUrl::Resolve(std::string_view reference) const {
  if (absl::Status status = CheckText(reference); !status.ok()) return status;
  if (SchemeLength(reference) > 0) return Parse(reference);
  HttpUrl url = *this;
  if (reference.starts_with("//")) {
    url.user_info.clear();
    absl::Status status = ReadAfterSlashes(reference.substr(2), url);
    if (!status.ok()) return status;
    return url;
  }
  reference = reference.substr(0, reference.find('#'));
  if (reference.empty()) return url;
  const size_t end = std::min(reference.find('?'), reference.size());
  const std::string_view relative = reference.substr(0, end);
  if (relative.starts_with('/')) {
    url.path = Encoded(WithoutDots(relative));
  } else if (!relative.empty()) {
    url.path = Encoded(WithoutDots(
        absl::StrCat(path.substr(0, path.rfind('/') + 1), ToAbsl(relative))));
  }
  url.query = Encoded(reference.substr(end));
  return url;
}

std::string HttpUrl::Origin() const {
  const size_t colon = authority.rfind(':');
  // Brackets of IPv6 contain colons.
  const bool has_port = colon != std::string::npos &&
                        authority.find(']', colon) == std::string::npos;
  const std::string_view port = scheme == "https" ? ":443" : ":80";
  const bool port_is_empty = has_port && colon + 1 == authority.size();
  return absl::StrCat(
      scheme, "://",
      authority.substr(0, port_is_empty ? colon : authority.size()),
      has_port && !port_is_empty ? ToAbsl("") : ToAbsl(port));
}

std::string HttpUrl::ToString() const {
  return absl::StrCat(scheme, "://", user_info, user_info.empty() ? "" : "@",
                      authority, path, query);
}

std::string HttpUrl::Shown() const {
  return PrintableAscii(absl::StrCat(scheme, "://", authority, path),
                        kMaxShownUrl);
}

std::string PercentEncoded(std::string_view text,
                           bool (*is_kept)(unsigned char byte)) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_kept(byte)) {
      encoded.push_back(c);
    } else {
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return encoded;
}

}  // namespace waiter::internal
