// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A server on a loopback port that runs a function for each connection, on its
// own thread. The function may answer as wrongly as it likes:
//
//   SocketServer server([](SocketServer::Connection& connection) {
//     while (!connection.ReadRequest().empty()) {
//       connection.Send("HTTP/1.1 204 No Content\r\n\r\n");
//     }
//   });
//   ... poll server.Url("/ready") ...
//
// A connection is closed when its function returns.

#ifndef WAITER_TESTS_SUPPORT_SOCKET_SERVER_H_
#define WAITER_TESTS_SUPPORT_SOCKET_SERVER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/joining_thread.h"

namespace waiter {

// Thread-safe. The destructor shuts all connections down, which ends blocked
// reads and writes, and awaits the functions.
class SocketServer {
 public:
  class Connection;
  using Serve = std::function<void(Connection&)>;

  explicit SocketServer(Serve serve);
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  uint16_t port() const { return port_; }
  std::string Url(std::string_view path) const;

  // Returns the heads of the requests so far, from all connections.
  std::vector<std::string> requests() const;

  // Returns the number of connections so far.
  int connections() const;

 private:
  void Accept();

  const Serve serve_;
  int listener_ = -1;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::list<Connection> connections_;
  bool ends_ = false;
  std::list<JoiningThread> threads_;
  JoiningThread accepting_;
};

// Belongs to the thread that serves it.
class SocketServer::Connection {
 public:
  Connection(SocketServer& server, int fd, int ordinal)
      : server_(server), fd_(fd), ordinal_(ordinal) {}

  // Counted from 1.
  int ordinal() const { return ordinal_; }

  // Reads a request up to the empty line, and also its body if the head states
  // the length. Returns the head, or an empty text at the end.
  std::string ReadRequest();

  // The body of the last request.
  const std::string& body() const { return body_; }

  // Returns false if the client has gone.
  bool Send(std::string_view text) const;

  // Closes the connection so that the client gets a reset.
  void Reset() const;

  // Blocks until the client closes.
  void AwaitClose() const;

 private:
  friend class SocketServer;

  SocketServer& server_;
  const int fd_;
  const int ordinal_;
  std::string received_;
  std::string body_;
  bool is_served_ = false;  // Guarded by the server's mutex.
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_SOCKET_SERVER_H_
