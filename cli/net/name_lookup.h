// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks for names, and blocks meanwhile. resolver.h does not.
//
//   waiter::cli::NameAnswer answer = waiter::cli::LookUpName({.name =
//   "localhost"}); if (answer.status.ok()) Connect(answer.addresses);

#ifndef WAITER_CLI_NET_NAME_LOOKUP_H_
#define WAITER_CLI_NET_NAME_LOOKUP_H_

#include <netinet/in.h>

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/net/socket_address.h"

namespace waiter::cli {

struct NameQuestion {
  std::string name = {};

  // A type of records, as "MX", which DNS is asked for; empty: addresses, found
  // as any program finds them, so also in /etc/hosts.
  std::string type = {};

  // Of addresses.
  AddressFamily family = AddressFamily::kAny;

  // NOLINTNEXTLINE(modernize-use-nullptr): taken for a comparison with zero
  auto operator<=>(const NameQuestion&) const = default;
};

struct NameAnswer {
  // kNotFound: surely no such name, or none with such records. kUnavailable:
  // there was no answer, or none that tells.
  absl::Status status = absl::OkStatus();

  // In the order to try them, with port 0, none twice. Empty if records were
  // asked for.
  std::vector<SocketAddress> addresses = {};

  // What was found, for people.
  std::vector<std::string> texts = {};
};

// Returns within the time that the system's resolver allows itself.
// Thread-safe.
NameAnswer LookUpName(const NameQuestion& question);

// Asks `server` for records instead of the one in /etc/resolv.conf.
NameAnswer LookUpRecords(const NameQuestion& question,
                         const sockaddr_in* server);

// Returns the values of the records of `type` in an answer of DNS, which may be
// none, or kUnavailable if it is malformed.
absl::StatusOr<std::vector<std::string>> ReadDnsAnswer(std::string_view message,
                                                       std::string_view type);

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_NAME_LOOKUP_H_
