// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/socket_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace waiter {

SocketServer::SocketServer(Serve serve)
    : serve_(std::move(serve)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, generic, size), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  EXPECT_EQ(getsockname(listener_, generic, &size), 0);
  port_ = ntohs(address.sin_port);
  accepting_ = JoiningThread([this] { Accept(); });
}

SocketServer::~SocketServer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    for (const Connection& connection : connections_) {
      if (!connection.is_served_) shutdown(connection.fd_, SHUT_RDWR);
    }
  }
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  threads_.clear();
  close(listener_);
}

std::string SocketServer::Url(std::string_view path) const {
  return absl::StrCat("http://127.0.0.1:", port_, std::string(path));
}

std::vector<std::string> SocketServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int SocketServer::connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(connections_.size());
}

void SocketServer::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    if (ends_) {
      close(fd);
      return;
    }
    Connection& connection = connections_.emplace_back(
        *this, fd, static_cast<int>(connections_.size()) + 1);
    threads_.emplace_back([this, &connection] {
      serve_(connection);
      const std::lock_guard closing(mutex_);
      connection.is_served_ = true;
      close(connection.fd_);
    });
  }
}

std::string SocketServer::Connection::ReadRequest() {
  size_t end = 0;
  size_t length = 0;
  const auto read_more = [&] {
    std::array<char, 4096> buffer;
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got > 0) received_.append(buffer.data(), static_cast<size_t>(got));
    return got > 0;
  };
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more()) return "";
  }
  end += 4;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  if (const size_t at = received_.find(kLength); at < end) {
    const size_t from = at + kLength.size();
    EXPECT_TRUE(absl::SimpleAtoi(
        received_.substr(from, received_.find('\r', from) - from), &length));
  }
  while (received_.size() < end + length) {
    if (!read_more()) return "";
  }
  std::string head = received_.substr(0, end);
  body_ = received_.substr(end, length);
  received_.erase(0, end + length);
  const std::lock_guard lock(server_.mutex_);
  server_.requests_.push_back(head);
  return head;
}

bool SocketServer::Connection::Send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void SocketServer::Connection::Reset() const {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void SocketServer::Connection::AwaitClose() const {
  char c = 0;
  while (recv(fd_, &c, 1, 0) > 0) {
  }
}

}  // namespace waiter
