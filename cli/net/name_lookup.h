// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Looks up names. Blocks until the answer comes; resolver.h does not block.
//
//   const waiter::cli::NameAnswer answer =
//       waiter::cli::LookUpName({.name = "localhost"});
//   if (answer.status.ok()) Connect(answer.addresses);

#ifndef WAITER_CLI_NET_NAME_LOOKUP_H_
#define WAITER_CLI_NET_NAME_LOOKUP_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/net/socket_address.h"

namespace waiter::cli {

struct NameQuestion {
  std::string name = {};

  // Type of the DNS records to look up, such as "MX". Empty: look up addresses
  // as any program does, including in /etc/hosts.
  std::string type = {};

  // Family of the addresses.
  AddressFamily family = AddressFamily::kAny;

  // IPv4 address and port of the name server to ask, for records. Empty: the
  // servers in /etc/resolv.conf, whose search domains then also apply.
  std::string server = {};
  uint16_t server_port = 53;

  // NOLINTNEXTLINE(modernize-use-nullptr): taken for a comparison with zero
  auto operator<=>(const NameQuestion&) const = default;
};

struct NameAnswer {
  // kNotFound: the name certainly does not exist, or has no such records.
  // kUnavailable: there is no answer, or an inconclusive one.
  absl::Status status = absl::OkStatus();

  // In the order to try them, with port 0 and without duplicates. Empty if the
  // question was for records.
  std::vector<SocketAddress> addresses = {};

  // The addresses or the values of the records, for messages.
  std::vector<std::string> texts = {};
};

// Looks up a name, within the time that the system's resolver allows.
// Thread-safe.
NameAnswer LookUpName(const NameQuestion& question);

// Returns the values of the records of `type` in the DNS answer `message`, or
// kUnavailable if it is malformed. There may be none.
absl::StatusOr<std::vector<std::string>> ReadDnsAnswer(std::string_view message,
                                                       std::string_view type);

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_NAME_LOOKUP_H_
