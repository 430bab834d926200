// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One connection to a Redis server, as a library of the program provides it.
// hiredis_connection.h does so by hiredis. The library itself includes no
// header of such a library.

#ifndef WAITER_REDIS_INTERNAL_REDIS_CONNECTION_H_
#define WAITER_REDIS_INTERNAL_REDIS_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/redis/internal/reply.h"

namespace waiter::internal {

// For one thread. Never blocks. All callbacks come during `OnReady` and `Send`.
class RedisConnection {
 public:
  // Called by a connection, which must not be destroyed during the call.
  struct Events {
    std::function<void()> on_connected;
    // `reply` is null if the connection ended before it came.
    std::function<void(uint64_t tag, RedisReply* reply)> on_reply;
    // The last callback.
    std::function<void(const std::string& reason)> on_closed;
  };

  // Closes the connection. No callback comes then.
  virtual ~RedisConnection() = default;

  // Returns -1 if it is closed.
  virtual int fd() const = 0;
  virtual bool wants_to_read() const = 0;
  virtual bool wants_to_write() const = 0;
  virtual void OnReady(bool readable, bool writable) = 0;

  // Sends a command, whose reply comes with `tag`.
  virtual void Send(const std::vector<std::string_view>& command,
                    uint64_t tag) = 0;
};

// How a library makes connections.
struct RedisConnector {
  // Returns a connection that is being established.
  std::function<absl::StatusOr<std::unique_ptr<RedisConnection>>(
      const std::string& host, int port, RedisConnection::Events events)>
      connect;
  // Returns the addresses of a host, as text, the best one first. It may block
  // for long, and is called on its own thread; `connect` then gets one of them.
  // If it is null, `connect` gets the host.
  std::function<absl::StatusOr<std::vector<std::string>>(
      const std::string& host)>
      resolve = nullptr;
};

// Returns `Connection::Connect` with `Connection::Resolve`, if there is one.
template <typename Connection>
RedisConnector ConnectorOf() {
  RedisConnector connector;
  connector.connect = &Connection::Connect;
  if constexpr (requires { &Connection::Resolve; }) {
    connector.resolve = &Connection::Resolve;
  }
  return connector;
}

// Asks the system, as getaddrinfo(3) does: files, DNS. Blocks until it has
// answered, or has given up after a time that the system chooses.
absl::StatusOr<std::vector<std::string>> LookUpHost(const std::string& host);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_INTERNAL_REDIS_CONNECTION_H_
