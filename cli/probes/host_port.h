// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a URL that says which host and which port:
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

// What DNS allows.
constexpr size_t kLongestHost = 253;

struct HostPort {
  // Without brackets, blanks and control characters; not empty.
  std::string host;
  uint16_t port;
};

// Returns what `text` is, or kInvalidArgument with what is wrong with it. A
// port must be given if `default_port` is 0.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text,
                                       uint16_t default_port);

bool IsBlankOrControl(char c);

// False for an empty text.
bool IsDigits(std::string_view text);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HOST_PORT_H_
