// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Forwards connections between workers and Redis, and breaks them:
//
//   Proxy proxy(/*doors=*/4);
//   proxy.set_target(redis.port());
//   ... worker i connects to proxy.port(i) ...
//   proxy.SetStalled(2, true);  // Nothing passes door 2.
//   proxy.Halve(Proxy::kAll);   // Forwards half of the next bytes, and closes.

#ifndef WAITER_TESTS_REDIS_CHAOS_PROXY_H_
#define WAITER_TESTS_REDIS_CHAOS_PROXY_H_

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/joining_thread.h"

namespace waiter::chaos {

// Thread-safe. One thread forwards for all doors.
class Proxy {
 public:
  static constexpr int kAll = -1;

  explicit Proxy(int doors);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port(int door) const { return doors_[static_cast<size_t>(door)].port; }
  void set_target(int port) { target_ = port; }

  // Bytes that were in transit when a door stalled arrive later, even if their
  // connection has ended.
  void SetStalled(int door, bool is_stalled);
  // Closes the connections of the door, and all later ones.
  void SetRefused(int door, bool is_refused);
  void Cut(int door);
  void Halve(int door);

 private:
  struct Door {
    int listener = -1;
    int port = 0;
    bool is_stalled = false;
    bool is_refused = false;
  };
  // One direction of a connection.
  struct Flow {
    int from = -1;
    int to = -1;
    std::string bytes = {};  // Received but not yet sent.
    bool has_ended = false;
  };
  struct Connection {
    int door = 0;
    Flow up = {};
    Flow down = {};
    bool is_halved = false;
    bool ends = false;
  };

  template <typename F>
  void ForEachDoor(int door, F change);
  template <typename F>
  void ForEachConnection(int door, F change);
  void Serve();
  void AwaitBytes();
  void Accept(int door);
  // Returns false if the connection has ended.
  bool Serve(Connection& connection) const;
  // Moves the available bytes. Returns false if the connection has ended.
  static bool Forward(Flow& flow, bool is_halved);

  std::vector<Door> doors_;
  std::atomic<int> target_ = 0;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;
  std::list<Connection> connections_;
  JoiningThread thread_;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_PROXY_H_
