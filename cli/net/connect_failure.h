// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Explains why none of the addresses of a target accepts a connection:
//
//   waiter::cli::Finding finding = waiter::cli::DescribeFailures(
//       {{*address, ECONNREFUSED}}, absl::Seconds(2));
//   // finding.detail == "refused by 127.0.0.1:5432"

#ifndef WAITER_CLI_NET_CONNECT_FAILURE_H_
#define WAITER_CLI_NET_CONNECT_FAILURE_H_

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// Result of one attempt to connect.
struct ConnectFailure {
  SocketAddress address;

  // An errno; 0 if the address has not answered so far.
  int error = 0;
};

// Summarizes `failures`, which must not be empty, and names each address. The
// target is `absent` if every address that this machine can use refuses.
// `timeout` is the time that the addresses without an answer had.
Finding DescribeFailures(absl::Span<const ConnectFailure> failures,
                         absl::Duration timeout);

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_CONNECT_FAILURE_H_
