// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// URLs as far as the example needs them: http, a host, a port and a path.

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

// Parses `http://host[:port][/path][?query]`, where `host` is a name, an IPv4
// address, or an IPv6 address in brackets. For any other text, returns
// kInvalidArgument in one line that quotes the text escaped.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// Returns the part between "http://" and the path, such as "[::1]:8080".
std::string Authority(const Url& url);

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_URL_H_
