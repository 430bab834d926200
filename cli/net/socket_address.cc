// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/socket_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace waiter::cli {

void SocketAddress::SetPort(uint16_t port) {
  if (family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
  }
}

std::string SocketAddress::ToString() const {
  if (family() == AF_UNIX) {
    const auto* const local = reinterpret_cast<const sockaddr_un*>(&storage);
    std::string path(local->sun_path, size - offsetof(sockaddr_un, sun_path));
    if (!path.empty() && path[0] == '\0') path[0] = '@';
    return path.substr(0, path.find('\0'));
  }
  std::array<char, NI_MAXHOST> host;
  std::array<char, NI_MAXSERV> port;
  if (getnameinfo(get(), size, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  return family() == AF_INET6
             ? absl::StrCat("[", host.data(), "]:", port.data())
             : absl::StrCat(host.data(), ":", port.data());
}

std::vector<SocketAddress> FixedAddresses(const std::string& host,
                                          uint16_t port) {
  std::vector<SocketAddress> fixed;
  // The resolver finds both only if /etc/hosts lists them.
  const bool is_local =
      host == "localhost" || absl::EndsWith(host, ".localhost");
  for (const std::string& text :
       is_local ? std::vector<std::string>{"127.0.0.1", "::1"}
                : std::vector<std::string>{host}) {
    addrinfo hints = {};
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(text.c_str(), nullptr, &hints, &found) != 0) break;
    SocketAddress& address = fixed.emplace_back();
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
    address.SetPort(port);
    freeaddrinfo(found);
  }
  return fixed;
}

SocketAddress UnixAddress(const std::string& path) {
  SocketAddress address;
  auto* const local = reinterpret_cast<sockaddr_un*>(&address.storage);
  local->sun_family = AF_UNIX;
  assert(path.size() < sizeof(local->sun_path));
  std::memcpy(local->sun_path, path.data(), path.size());
  size_t size = offsetof(sockaddr_un, sun_path) + path.size();
  if (path[0] == '@') {
    local->sun_path[0] = '\0';
  } else {
    ++size;
  }
  address.size = static_cast<socklen_t>(size);
  return address;
}

}  // namespace waiter::cli
