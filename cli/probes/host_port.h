// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses the host and the port of a URL:
//
//   waiter::cli::ParseHostPort("[::1]:80", 0)->host;  // "::1"
//   waiter::cli::ParseHostPort("db", 5432)->port;     // 5432

#ifndef WAITER_CLI_PROBES_HOST_PORT_H_
#define WAITER_CLI_PROBES_HOST_PORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::cli {

// Longest name that DNS allows.
constexpr size_t kLongestHost = 253;

struct HostPort {
  // Not empty; has no brackets, blanks and control characters.
  std::string host;
  uint16_t port;
};

// Parses `HOST[:PORT]`, or returns kInvalidArgument with the problem. If
// `default_port` is 0, the port is required.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text,
                                       uint16_t default_port);

bool IsBlankOrControl(char c);

// Returns false for an empty text.
bool IsDigits(std::string_view text);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HOST_PORT_H_
