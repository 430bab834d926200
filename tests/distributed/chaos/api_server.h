// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The API that the workers of the chaos test poll. It writes down each call at
// its own time:
//
//   ApiServer api(start, seed);
//   ... start workers with --api=PORT ...
//   api.set_failing(true);  // Half of the answers are errors.
//   ...
//   ApiServer::Log log = api.TakeLog();

#ifndef WAITER_TESTS_DISTRIBUTED_CHAOS_API_SERVER_H_
#define WAITER_TESTS_DISTRIBUTED_CHAOS_API_SERVER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/distributed/chaos/history.h"
#include "tests/support/joining_thread.h"
#include "waiter/clock.h"

namespace waiter::chaos {

// Thread-safe. One thread serves all connections.
class ApiServer {
 public:
  struct Log {
    std::vector<PollRecord> polls;
    std::vector<AnswerRecord> answers;
    // Of each worker, in seconds.
    std::map<int, double> clock_offsets;
  };

  ApiServer(MonotonicTime start, uint64_t seed);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  int port() const { return port_; }
  void set_failing(bool fails) { fails_ = fails; }
  Log TakeLog();

 private:
  struct Connection {
    int fd = -1;
    int worker = -1;
    std::string received = {};
  };

  void Serve();
  // Returns false at the end of the connection.
  bool Receive(Connection& connection);
  bool TakeMessage(Connection& connection);
  Answer NextAnswer();
  double Now() const;

  const MonotonicTime start_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> fails_ = false;
  std::atomic<bool> ends_ = false;
  std::mt19937_64 gen_;  // Of the thread.
  std::vector<Connection> connections_;
  std::mutex mutex_;
  Log log_;
  JoiningThread thread_;
};

// Returns a socket that listens on a free port of 127.0.0.1, and the port.
int ListenOnLoopback(int& port);

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DISTRIBUTED_CHAOS_API_SERVER_H_
