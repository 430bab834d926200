// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/distributed/chaos/api_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/distributed/chaos/api_protocol.h"
#include "tests/distributed/chaos/history.h"
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

ApiServer::ApiServer(MonotonicTime start, uint64_t seed)
    : start_(start), gen_(seed) {
  listener_ = ListenOnLoopback(port_);
  thread_ = JoiningThread([this] { Serve(); });
}

ApiServer::~ApiServer() {
  ends_ = true;
  thread_.join();
  for (const Connection& connection : connections_) close(connection.fd);
  close(listener_);
}

ApiServer::Log ApiServer::TakeLog() {
  const std::lock_guard lock(mutex_);
  return std::move(log_);
}

double ApiServer::Now() const {
  return std::chrono::duration<double>(GetRealClock().MonotonicNow() - start_)
      .count();
}

void ApiServer::Serve() {
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

bool ApiServer::Receive(Connection& connection) {
  std::array<char, 4096> bytes;
  const ssize_t count = recv(connection.fd, bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection.received.append(bytes.data(), static_cast<size_t>(count));
  while (TakeMessage(connection)) {
  }
  return true;
}

bool ApiServer::TakeMessage(Connection& connection) {
  std::string& received = connection.received;
  if (connection.worker < 0) {
    Hello hello;
    if (received.size() < sizeof(hello)) return false;
    std::memcpy(&hello, received.data(), sizeof(hello));
    received.erase(0, sizeof(hello));
    connection.worker = static_cast<int>(hello.worker);
    const std::lock_guard lock(mutex_);
    log_.clock_offsets[connection.worker] = absl::ToDoubleSeconds(
        absl::FromUnixMicros(hello.wall_micros) - absl::Now());
    return true;
  }
  Call call;
  if (received.size() < sizeof(call)) return false;
  std::memcpy(&call, received.data(), sizeof(call));
  std::vector<int64_t> waits(static_cast<size_t>(call.waits));
  const size_t length = sizeof(call) + waits.size() * sizeof(int64_t);
  if (received.size() < length) return false;
  std::memcpy(waits.data(), received.data() + sizeof(call),
              length - sizeof(call));
  received.erase(0, length);
  std::string answers;
  {
    const std::lock_guard lock(mutex_);
    const double now = Now();
    log_.polls.push_back({.time = now,
                          .worker = connection.worker,
                          .claim = call.claim,
                          .members = call.members});
    for (const int64_t wait : waits) {
      const Answer answer = NextAnswer();
      log_.answers.push_back({.time = now,
                              .worker = connection.worker,
                              .wait = wait,
                              .answer = answer});
      answers.push_back(static_cast<char>(answer));
    }
  }
  // A few bytes fit, unless the worker is gone.
  return send(connection.fd, answers.data(), answers.size(), MSG_NOSIGNAL) > 0;
}

Answer ApiServer::NextAnswer() {
  const uint64_t dice = gen_() % 100;
  if (fails_ && dice < 50) return Answer::kError;
  return dice >= 95 ? Answer::kSuccess : Answer::kNotReady;
}

}  // namespace waiter::chaos
