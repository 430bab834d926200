// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Explains why no address of a target accepts a connection:
//
//   const waiter::cli::ConnectFailure refused = {
//       .address = waiter::cli::FixedAddresses("127.0.0.1", 80).front(),
//       .error = ECONNREFUSED};
//   waiter::cli::DescribeFailures({refused}, absl::Seconds(2)).detail;
//   // "refused by 127.0.0.1:80"

#ifndef WAITER_CLI_NET_CONNECT_FAILURE_H_
#define WAITER_CLI_NET_CONNECT_FAILURE_H_

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// A failed attempt to connect to one address.
struct ConnectFailure {
  SocketAddress address;

  // An errno; 0 if the address has not answered.
  int error = 0;
};

// Returns the finding for `failures`, at least one, which names each address.
// The target is absent if it refuses on every address that this machine can
// use. `timeout` is the time that addresses without an answer had.
Finding DescribeFailures(absl::Span<const ConnectFailure> failures,
                         absl::Duration timeout);

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_CONNECT_FAILURE_H_
