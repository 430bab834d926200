// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The rows of each family of schemes. Each family is one file; schemes.h joins
// them.

#ifndef WAITER_CLI_PROBES_SCHEMES_FAMILIES_H_
#define WAITER_CLI_PROBES_SCHEMES_FAMILIES_H_

#include "absl/types/span.h"
#include "cli/probes/scheme.h"

namespace waiter::cli {

// The rows live as long as the program.
absl::Span<const Scheme> SocketSchemes();     // server_schemes.cc
absl::Span<const Scheme> HttpSchemes();       // http_schemes.cc
absl::Span<const Scheme> ServerSchemes();     // server_schemes.cc
absl::Span<const Scheme> DnsSchemes();        // dns_schemes.cc
absl::Span<const Scheme> LocalSchemes();      // local_schemes.cc
absl::Span<const Scheme> ContainerSchemes();  // container_schemes.cc

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SCHEMES_FAMILIES_H_
