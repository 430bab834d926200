// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Names of hosts as DNS has them:
//
//   waiter::cli::AsciiHost("bücher.example");  // "xn--bcher-kva.example"

#ifndef WAITER_CLI_TEXT_ASCII_HOST_H_
#define WAITER_CLI_TEXT_ASCII_HOST_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::cli {

bool IsAscii(std::string_view text);

// Returns `host`, UTF-8, with non-ASCII characters converted by libidn2 (IDNA
// 2008), which is loaded if there are any. kInvalidArgument if it is not a
// name, or if there is no libidn2.
absl::StatusOr<std::string> AsciiHost(std::string_view host);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_ASCII_HOST_H_
