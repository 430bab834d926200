// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// An HTTP server that sends scripted answers, even invalid ones, and runs on
// the loop of the client under test.
//
//   HttpServer server(loop);
//   server.Play({.bytes = "HTTP/1.1 503 Busy\r\n\r\n"});
//   ... poll server.Url("/ready") ...
//   EXPECT_THAT(server.requests(), ElementsAre(StartsWith("GET /ready ")));
//
// A request of HTTP/2 is its bytes up to the end of the first stream. The
// script must contain the frames of the answer.

#ifndef WAITER_TESTS_SUPPORT_HTTP_SERVER_H_
#define WAITER_TESTS_SUPPORT_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Script for one connection.
struct HttpReply {
  std::string bytes = {};

  enum class Then { kClose, kReset, kHang, kSendForever };
  Then then = Then::kClose;

  bool byte_by_byte = false;  // Sends each byte in its own segment.
  bool greets = false;        // Answers before any request.
};

// Thread-compatible.
class HttpServer {
 public:
  enum class Family { kIpv4, kIpv6 };

  // Listens on a free port of the loopback address of `family`, if this machine
  // has one; see `listens()`.
  explicit HttpServer(EventLoop& loop, Family family = Family::kIpv4);

  // Listens on a Unix socket; `@NAME` is an abstract one.
  HttpServer(EventLoop& loop, const std::string& socket_path);

  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Adds the reply to the next connection. The last reply repeats.
  void Play(HttpReply reply) { replies_.push_back(std::move(reply)); }

  bool listens() const { return listens_; }

  // Must not be called for a Unix socket.
  uint16_t port() const { return port_; }
  std::string Url(std::string_view path) const;

  // The complete requests so far.
  const std::vector<std::string>& requests() const { return requests_; }

  // The number of open connections.
  size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    int fd = -1;
    HttpReply reply;
    std::string request;
    size_t sent = 0;
    EventLoop::Watch watch;
  };
  using Position = std::list<Connection>::iterator;

  void AcceptAll();
  void Accept();
  void Read(Position at);
  void Write(Position at);
  void End(Position at);

  EventLoop& loop_;
  const Family family_;
  int listener_ = -1;
  bool listens_ = false;
  uint16_t port_ = 0;
  EventLoop::Watch accepting_;
  std::deque<HttpReply> replies_;
  std::list<Connection> connections_;
  std::vector<std::string> requests_;
};

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_HTTP_SERVER_H_
