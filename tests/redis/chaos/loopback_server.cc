// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/redis/chaos/api_protocol.h"
#include "tests/support/joining_thread.h"
#include "waiter/clock.h"

namespace waiter::chaos {

int ListenOnLoopback(int& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, any, length) != 0 || listen(fd, 128) != 0 ||
      getsockname(fd, any, &length) != 0) {
    std::abort();
  }
  port = ntohs(address.sin_port);
  return fd;
}

LoopbackServer::LoopbackServer(MonotonicTime start) : start_(start) {
  listener_ = ListenOnLoopback(port_);
}

LoopbackServer::~LoopbackServer() {
  for (const Connection& connection : connections_) close(connection.fd);
  close(listener_);
}

void LoopbackServer::Begin() {
  thread_ = JoiningThread([this] { Serve(); });
}

void LoopbackServer::End() {
  ends_ = true;
  thread_.join();
}

std::map<int, double> LoopbackServer::ClockOffsets() {
  const std::lock_guard lock(mutex_);
  return clock_offsets_;
}

double LoopbackServer::Now() const {
  return std::chrono::duration<double>(GetRealClock().MonotonicNow() - start_)
      .count();
}

void LoopbackServer::Serve() {
  while (!ends_) {
    std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      fds.push_back({connection.fd, POLLIN, 0});
    }
    if (::poll(fds.data(), fds.size(), 50) <= 0) continue;
    for (size_t i = 1; i < fds.size(); ++i) {
      Connection& connection = connections_[i - 1];
      if (fds[i].revents == 0 || Receive(connection)) continue;
      close(connection.fd);
      connection.fd = -1;
    }
    std::erase_if(connections_, [](const auto& c) { return c.fd < 0; });
    if (fds[0].revents == 0) continue;
    const int fd =
        accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connections_.push_back({.fd = fd});
  }
}

bool LoopbackServer::Receive(Connection& connection) {
  std::array<char, 4096> bytes;
  const ssize_t count = recv(connection.fd, bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection.received.append(bytes.data(), static_cast<size_t>(count));
  while (connection.worker < 0 ? TakeHello(connection)
                               : TakeMessage(connection)) {
  }
  return true;
}

bool LoopbackServer::TakeHello(Connection& connection) {
  Hello hello;
  if (connection.received.size() < sizeof(hello)) return false;
  std::memcpy(&hello, connection.received.data(), sizeof(hello));
  connection.received.erase(0, sizeof(hello));
  connection.worker = static_cast<int>(hello.worker);
  const std::lock_guard lock(mutex_);
  clock_offsets_[connection.worker] = absl::ToDoubleSeconds(
      absl::FromUnixMicros(hello.wall_micros) - absl::Now());
  return true;
}

}  // namespace waiter::chaos
