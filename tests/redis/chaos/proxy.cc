// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/redis/chaos/loopback_server.h"
#include "tests/support/joining_thread.h"

namespace waiter::chaos {

Proxy::Proxy(int doors) : doors_(static_cast<size_t>(doors)) {
  for (Door& door : doors_) door.listener = ListenOnLoopback(door.port);
  thread_ = JoiningThread([this] { Serve(); });
}

Proxy::~Proxy() {
  ends_ = true;
  thread_.join();
  for (const Connection& connection : connections_) {
    close(connection.up.from);
    close(connection.up.to);
  }
  for (const Door& door : doors_) close(door.listener);
}

template <typename F>
void Proxy::ForEachDoor(int door, F change) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < doors_.size(); ++i) {
    if (door == kAll || static_cast<int>(i) == door) change(doors_[i]);
  }
}

template <typename F>
void Proxy::ForEachConnection(int door, F change) {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    if (door == kAll || connection.door == door) change(connection);
  }
}

void Proxy::SetStalled(int door, bool is_stalled) {
  ForEachDoor(door, [&](Door& d) { d.is_stalled = is_stalled; });
}

void Proxy::SetRefused(int door, bool is_refused) {
  ForEachDoor(door, [&](Door& d) { d.is_refused = is_refused; });
  if (is_refused) Cut(door);
}

void Proxy::Cut(int door) {
  ForEachConnection(door, [](Connection& c) { c.ends = true; });
}

void Proxy::Halve(int door) {
  ForEachConnection(door, [](Connection& c) { c.is_halved = true; });
}

void Proxy::Serve() {
  while (!ends_) {
    AwaitBytes();
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < doors_.size(); ++i) Accept(static_cast<int>(i));
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (Serve(*it)) {
        ++it;
        continue;
      }
      close(it->up.from);
      close(it->up.to);
      it = connections_.erase(it);
    }
  }
}

void Proxy::AwaitBytes() {
  std::vector<pollfd> fds;
  {
    const std::lock_guard lock(mutex_);
    for (const Door& door : doors_) fds.push_back({door.listener, POLLIN, 0});
    for (const Connection& connection : connections_) {
      if (doors_[static_cast<size_t>(connection.door)].is_stalled) continue;
      for (const Flow* flow : {&connection.up, &connection.down}) {
        if (!flow->has_ended) fds.push_back({flow->from, POLLIN, 0});
      }
    }
  }
  // Changes take effect within 5 ms.
  ::poll(fds.data(), fds.size(), 5);
}

bool Proxy::Serve(Connection& connection) const {
  if (connection.ends) return false;
  if (doors_[static_cast<size_t>(connection.door)].is_stalled) return true;
  return Forward(connection.up, connection.is_halved) &&
         Forward(connection.down, connection.is_halved) &&
         !(connection.up.has_ended && connection.down.has_ended);
}

void Proxy::Accept(int door) {
  const int client = accept4(doors_[static_cast<size_t>(door)].listener,
                             nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  if (doors_[static_cast<size_t>(door)].is_refused) {
    close(client);
    return;
  }
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(target_.load()));
  // On loopback, this never blocks for long: the kernel accepts or refuses.
  if (connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
      0) {
    close(client);
    close(server);
    return;
  }
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  connections_.push_back({.door = door,
                          .up = {.from = client, .to = server},
                          .down = {.from = server, .to = client}});
}

bool Proxy::Forward(Flow& flow, bool is_halved) {
  std::array<char, 65536> bytes;
  if (!flow.has_ended && flow.bytes.empty()) {
    const ssize_t count =
        recv(flow.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return false;
    if (count == 0) flow.has_ended = true;
    if (count > 0) flow.bytes.assign(bytes.data(), static_cast<size_t>(count));
  }
  const bool ends = is_halved && !flow.bytes.empty();
  if (ends) flow.bytes.resize(flow.bytes.size() / 2);
  if (!flow.bytes.empty()) {
    const ssize_t count = send(flow.to, flow.bytes.data(), flow.bytes.size(),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) return false;
    if (count > 0) flow.bytes.erase(0, static_cast<size_t>(count));
  }
  // The other end reads the remaining bytes, and then the end.
  if (flow.has_ended && flow.bytes.empty()) shutdown(flow.to, SHUT_WR);
  return !ends;
}

}  // namespace waiter::chaos
