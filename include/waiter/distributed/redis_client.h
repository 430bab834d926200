// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs scripts on a Redis or Valkey server, version 7.0 or newer, without ever
// blocking the caller:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5:6379/1");
//   if (!client.ok()) return client.status();
//   (*client)->Call(script, {"key"}, {"argument"},
//                   [](absl::StatusOr<waiter::RedisReply> reply) { ... });
//
// One thread holds one connection, over which calls are pipelined, and makes a
// new one whenever it breaks, with growing, jittered delays. Shared budgets use
// it by a `RedisBudgetStore` (distributed/redis_budget_store.h).
//
// A host that is a name is looked up anew for each connection, on another
// thread, as nothing can interrupt a lookup. One that hangs holds up neither
// timers nor the destructor, and its thread ends when the system gives up. A
// host with several addresses is tried by one after another, IPv4 first.
//
// Your target has to link hiredis, 0.14 or newer. There is no TLS. For a Redis
// Cluster there is `RedisCluster` (distributed/redis_cluster.h).

#ifndef WAITER_DISTRIBUTED_REDIS_CLIENT_H_
#define WAITER_DISTRIBUTED_REDIS_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/backoff_options.h"
#include "waiter/clock.h"
#include "waiter/distributed/internal/redis_connection.h"
#include "waiter/distributed/redis_caller.h"
#include "waiter/distributed/redis_reply.h"

namespace waiter {

// A value.
struct RedisClientOptions {
  // Time for a reply, and for a connection with the lookup of its host. Within
  // [10ms, 1min].
  absl::Duration call_timeout = absl::Seconds(1);

  // Calls that may wait for their replies; more fail. Within [1, 1000000].
  int64_t max_pending = 10'000;

  // Delays between connections that fail.
  BackoffOptions reconnect = {.initial_delay = absl::Milliseconds(100),
                              .max_delay = absl::Seconds(5)};

  // For timers and timeouts. Must run at the speed of real time.
  Clock* clock = &GetRealClock();
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const RedisClientOptions& options);

// Snapshot of a client, for metrics, logs and tests.
struct RedisClientState {
  bool connected = false;
  // Why there is no connection; OK while it is being made for the first time.
  absl::Status error;
  std::string server_version;
  int64_t connections = 0;  // So far.
  int64_t pending = 0;
  // Time of the server minus that of the wall clock, from the fastest reply of
  // the last minute.
  std::optional<absl::Duration> clock_offset;
};

namespace internal {
class HiredisConnection;
class RedisClientLoop;

template <typename T>
concept IsComplete = requires {
  sizeof(T);
};
}  // namespace internal

// Thread-safe.
class RedisClient final : public RedisCaller {
 public:
  // Returns a client that connects in the background, or an error of the URL,
  // redis://[user:password@]host[:port][/database], or of the options. No
  // message ever has the password.
  template <typename Connection = internal::HiredisConnection>
  static absl::StatusOr<std::shared_ptr<RedisClient>> Make(
      std::string_view url, const RedisClientOptions& options = {}) {
    static_assert(internal::IsComplete<Connection>,
                  "Waiter's Redis client needs hiredis, and its headers are "
                  "missing. On Debian: apt-get install libhiredis-dev");
    if constexpr (internal::IsComplete<Connection>) {
      return MakeWith(url, options, internal::ConnectorOf<Connection>());
    }
  }

  // Closes the connection, and calls the callbacks of all calls without reply
  // with kCancelled. Calls that were made before are still sent if there is a
  // connection. Joins the thread, unless it runs on this thread itself.
  ~RedisClient() override;

  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  void Call(const RedisScript& script, std::vector<std::string> keys,
            std::vector<std::string> arguments, Callback callback) override;
  void RunAt(MonotonicTime time, std::function<void()> timer) override;
  Clock& clock() const override;

  RedisClientState State() const;

 private:
  static absl::StatusOr<std::shared_ptr<RedisClient>> MakeWith(
      std::string_view url, const RedisClientOptions& options,
      internal::RedisConnector connector);

  explicit RedisClient(std::shared_ptr<internal::RedisClientLoop> loop);

  // Also held by the thread.
  const std::shared_ptr<internal::RedisClientLoop> loop_;
};

}  // namespace waiter

// Only `Make` needs it, so that the library builds without hiredis. A program
// that has the headers and does not link hiredis defines WAITER_NO_HIREDIS, as
// compilers may call it from any code that destroys a connection.
#if __has_include(<hiredis/async.h>) && !defined(WAITER_NO_HIREDIS)
#include "waiter/distributed/internal/hiredis_connection.h"  // IWYU pragma: keep
#endif

#endif  // WAITER_DISTRIBUTED_REDIS_CLIENT_H_
