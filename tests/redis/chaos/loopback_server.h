// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A server on 127.0.0.1 for the processes of a test. A connection begins with a
// `Hello` (api_protocol.h); a subclass defines the rest:
//
//   class ApiServer final : public LoopbackServer { ... };

#ifndef WAITER_TESTS_REDIS_CHAOS_LOOPBACK_SERVER_H_
#define WAITER_TESTS_REDIS_CHAOS_LOOPBACK_SERVER_H_

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/joining_thread.h"
#include "waiter/clock.h"

namespace waiter::chaos {

// One thread serves all connections.
class LoopbackServer {
 public:
  explicit LoopbackServer(MonotonicTime start);
  virtual ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  int port() const { return port_; }

  // Returns, for each worker, its wall clock minus this process's, in seconds.
  std::map<int, double> ClockOffsets();

 protected:
  struct Connection {
    int fd = -1;
    int worker = -1;
    std::string received = {};
  };

  // Subclasses must call these in their constructors and destructors.
  void Begin();
  void End();

  // Takes and answers the first message in `received`. Returns false if no
  // message is complete yet.
  virtual bool TakeMessage(Connection& connection) = 0;

  // Returns the seconds since `start`.
  double Now() const;

 private:
  void Serve();
  // Returns false at the end of the connection.
  bool Receive(Connection& connection);
  bool TakeHello(Connection& connection);

  const MonotonicTime start_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ends_ = false;
  std::vector<Connection> connections_;
  std::mutex mutex_;
  std::map<int, double> clock_offsets_;
  JoiningThread thread_;
};

// Returns a socket that listens on a free port of 127.0.0.1, and the port.
int ListenOnLoopback(int& port);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_LOOPBACK_SERVER_H_
