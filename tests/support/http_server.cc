// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/loop/event_loop.h"
#include "cli/net/socket_address.h"

namespace waiter::cli {
namespace {

// Binds to a free port of the loopback address and returns it, or 0.
template <typename Address>
uint16_t Bind(int fd, Address address, in_port_t Address::*port) {
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, generic, size) != 0 || listen(fd, 128) != 0 ||
      getsockname(fd, generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.*port);
}

// Returns true if the frames of HTTP/2 in `frames` end a stream (RFC
// 9113, 4.1).
bool EndsStream(std::string_view frames) {
  constexpr size_t kHeaderSize = 9;
  constexpr int kHighestType = 1;  // DATA is 0, HEADERS is 1.
  constexpr int kEndStream = 1;
  while (frames.size() >= kHeaderSize) {
    size_t length = 0;
    for (const char byte : frames.substr(0, 3)) {
      length = length << 8 | static_cast<unsigned char>(byte);
    }
    if (frames.size() < kHeaderSize + length) return false;
    if (frames[3] <= kHighestType && (frames[4] & kEndStream) != 0) return true;
    frames.remove_prefix(kHeaderSize + length);
  }
  return false;
}

// Returns true if `request` is complete.
bool IsWhole(std::string_view request) {
  if (absl::ConsumePrefix(&request, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) {
    return EndsStream(request);
  }
  if (absl::StartsWith(request, "PRI ")) return false;
  const size_t end = request.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  size_t length = 0;
  const size_t at = request.find(kLength);
  if (at < end) {
    std::string_view value = request.substr(at + kLength.size());
    value = value.substr(0, value.find('\r'));
    if (!absl::SimpleAtoi(value, &length)) return true;
  }
  return request.size() >= end + 4 + length;
}

}  // namespace

HttpServer::HttpServer(EventLoop& loop, Family family)
    : loop_(loop), family_(family) {
  const bool ipv6 = family == Family::kIpv6;
  listener_ = socket(ipv6 ? AF_INET6 : AF_INET,
                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return;
  if (ipv6) {
    const int only = 1;
    setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    port_ = Bind(listener_, address, &sockaddr_in6::sin6_port);
  } else {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    port_ = Bind(listener_, address, &sockaddr_in::sin_port);
  }
  listens_ = port_ != 0;
  AcceptAll();
}

HttpServer::HttpServer(EventLoop& loop, const std::string& socket_path)
    : loop_(loop), family_(Family::kIpv4) {
  const SocketAddress address = UnixAddress(socket_path);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  listens_ = bind(listener_, address.get(), address.size) == 0 &&
             listen(listener_, 128) == 0;
  AcceptAll();
}

HttpServer::~HttpServer() {
  for (const Connection& connection : connections_) close(connection.fd);
  if (listener_ >= 0) close(listener_);
}

std::string HttpServer::Url(std::string_view path) const {
  return absl::StrCat("http://",
                      family_ == Family::kIpv6 ? "[::1]:" : "127.0.0.1:", port_,
                      path);
}

void HttpServer::AcceptAll() {
  accepting_ = loop_.WhenReady(listener_, POLLIN,
                               [this](short /*events*/) { Accept(); });
}

void HttpServer::Accept() {
  const int fd =
      accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  const int now = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
  const Position at = connections_.emplace(connections_.end());
  at->fd = fd;
  if (!replies_.empty()) at->reply = replies_.front();
  if (replies_.size() > 1) replies_.pop_front();
  if (at->reply.greets) {
    at->watch = loop_.WhenReady(fd, POLLOUT,
                                [this, at](short /*events*/) { Write(at); });
    return;
  }
  at->watch =
      loop_.WhenReady(fd, POLLIN, [this, at](short /*events*/) { Read(at); });
}

void HttpServer::Read(Position at) {
  std::array<char, 4096> buffer;
  const ssize_t size = read(at->fd, buffer.data(), buffer.size());
  if (size <= 0) {
    if (size == 0 || errno != EAGAIN) End(at);
    return;
  }
  at->request.append(buffer.data(), static_cast<size_t>(size));
  if (!IsWhole(at->request)) return;
  requests_.push_back(at->request);
  at->watch = loop_.WhenReady(at->fd, POLLOUT,
                              [this, at](short /*events*/) { Write(at); });
}

void HttpServer::Write(Position at) {
  const HttpReply& reply = at->reply;
  if (at->sent >= reply.bytes.size()) {
    switch (reply.then) {
      case HttpReply::Then::kSendForever:
        at->reply.bytes.assign(65536, 'x');
        at->sent = 0;
        break;
      case HttpReply::Then::kHang:
        // Waits until the client closes.
        at->watch = loop_.WhenReady(at->fd, POLLIN,
                                    [this, at](short /*events*/) { Read(at); });
        return;
      case HttpReply::Then::kReset: {
        const linger at_once = {.l_onoff = 1, .l_linger = 0};
        setsockopt(at->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        End(at);
        return;
      }
      case HttpReply::Then::kClose:
        End(at);
        return;
    }
  }
  const size_t left = reply.bytes.size() - at->sent;
  const ssize_t size =
      send(at->fd, reply.bytes.data() + at->sent,
           reply.byte_by_byte ? std::min<size_t>(left, 1) : left, MSG_NOSIGNAL);
  if (size > 0) {
    at->sent += static_cast<size_t>(size);
  } else if (errno != EAGAIN) {
    End(at);
  }
}

void HttpServer::End(Position at) {
  // Remove the watch first, while its socket is open.
  at->watch = {};
  close(at->fd);
  connections_.erase(at);
}

}  // namespace waiter::cli
