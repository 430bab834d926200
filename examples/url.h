// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of URLs that the example needs: http, a host, a port, a path.

#ifndef WAITER_EXAMPLES_URL_H_
#define WAITER_EXAMPLES_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter_examples {

struct Url {
  std::string host;  // A name or an address; an IPv6 address has no brackets.
  uint16_t port = 80;
  std::string path = "/";  // With the query, if any; without the fragment.
};

// Parses `http://host[:port][/path][?query]`, `host` being a name, an IPv4
// address, or an IPv6 address in brackets. Returns kInvalidArgument, in one
// line that quotes `text` harmlessly, for anything else.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// Returns what stands between "http://" and the path, such as "[::1]:8080".
std::string Authority(const Url& url);

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_URL_H_
