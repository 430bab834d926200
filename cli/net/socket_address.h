// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Addresses of sockets:
//
//   waiter::cli::FixedAddresses("::1", 5432)[0].ToString();  // "[::1]:5432"

#ifndef WAITER_CLI_NET_SOCKET_ADDRESS_H_
#define WAITER_CLI_NET_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace waiter::cli {

// Selects addresses by their family.
enum class AddressFamily : uint8_t { kAny, kIpv4, kIpv6 };

// An IPv4, IPv6 or Unix address.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  int family() const { return storage.ss_family; }

  // Requires an IPv4 or IPv6 address.
  void SetPort(uint16_t port);

  // Returns "127.0.0.1:80", "[::1]:80", "/run/a.sock" or "@abstract".
  std::string ToString() const;
};

// Returns the addresses of a host that needs no name server: one for a numeric
// address, both loopback addresses for localhost (RFC 6761, section 6.3),
// otherwise none.
std::vector<SocketAddress> FixedAddresses(const std::string& host,
                                          uint16_t port);

// Returns the address of a socket in the file system or, if `path` begins with
// `@`, in the abstract namespace of Linux. Requires at most 107 characters.
SocketAddress UnixAddress(const std::string& path);

}  // namespace waiter::cli

#endif  // WAITER_CLI_NET_SOCKET_ADDRESS_H_
