// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs scripts on a Redis or Valkey server or cluster, version 7.0 or newer,
// without ever blocking the caller:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5:6379/1");
//   if (!client.ok()) return client.status();
//   (*client)->Call(script, {"key"}, {"argument"},
//                   [](absl::StatusOr<waiter::RedisReply> reply) { ... });
//
// Shared budgets use a client through a `RedisBudgetStore`
// (redis/shared_budgets.h), and durable waits through a `RedisWaitStore`
// (durable/redis_store.h). `RedisClient` talks to one server, and
// `RedisCluster` to a Redis Cluster.
//
// Your target must link hiredis, 0.14 or newer. TLS is not supported.

#ifndef WAITER_REDIS_CLIENT_H_
#define WAITER_REDIS_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"  // IWYU pragma: export

namespace waiter {

// The interface that stores on Redis call. Thread-safe.
//
//   const std::shared_ptr<waiter::RedisCaller> redis =
//       *waiter::RedisClient::Make(url);
//   const auto waits = std::make_shared<waiter::RedisWaitStore>(redis);
//   const auto budgets = std::make_shared<waiter::RedisBudgetStore>(redis);
class RedisCaller {
 public:
  // Called on the thread of this object, one at a time; must return soon, and
  // may destroy this object.
  using Callback = std::function<void(absl::StatusOr<RedisReply>)>;

  virtual ~RedisCaller() = default;

  // Runs `script`, and calls `callback` exactly once, never inside this call:
  //
  //   a reply              of any type except kError
  //   kUnavailable         no connection or no reply in time: the script may
  //                        have run, or may still run
  //   kResourceExhausted   the server is out of memory, or too many calls wait
  //                        for replies
  //   kAborted             temporary: the server is loading, busy or being
  //                        replaced
  //   kCancelled           this was destroyed: the script may have run
  //   kUnauthenticated, kPermissionDenied, kFailedPrecondition, kInternal
  //                        need manual action
  virtual void Call(const RedisScript& script, std::vector<std::string> keys,
                    std::vector<std::string> arguments, Callback callback) = 0;

  // Calls `timer` once on the thread of this object, at `time` or soon after,
  // unless this is destroyed first.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of the timers.
  virtual Clock& clock() const = 0;
};

// Delays between failed attempts to connect.
struct ReconnectBackoffDefaults : BackoffDefaults {
  static constexpr absl::Duration kMaxDelay = absl::Seconds(5);
};
using ReconnectBackoff = BasicBackoff<ReconnectBackoffDefaults>;

// A value.
struct RedisClientOptions {
  // Time limit for a reply, and for connecting, host lookup included. Within
  // [10ms, 1min].
  Duration call_timeout = absl::Seconds(1);

  // Maximum number of unanswered calls; more calls fail. Within [1, 1000000].
  int64_t max_pending = 10'000;

  // Delays between failed attempts to connect.
  ReconnectBackoff reconnect = {};

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
  // The server's clock minus the wall clock, by the fastest reply of the last
  // minute.
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

// A client of one server. One thread holds one connection, over which calls are
// pipelined, and replaces it whenever it breaks, with growing, jittered delays.
// Thread-safe.
//
// A child of fork(2) has no thread of its parent's client, and must not use the
// connection. It may destroy its copy, for example by exit(3), and make another
// client. Calls to the copy never call back.
//
// A host name is looked up again for each connection, on another thread,
// because nothing can interrupt a lookup. A lookup that hangs holds up neither
// timers nor the destructor, and its thread ends when the system gives up. If a
// host has several addresses, the client tries one after another, IPv4 first.
class RedisClient final : public RedisCaller {
 public:
  // Returns a client that connects in the background, or an error of the URL,
  // redis://[user:password@]host[:port][/database], or of the options. No
  // message ever contains the password.
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

  // Closes the connection, and calls the callbacks of all unanswered calls with
  // kCancelled. Earlier calls are still sent if there is a connection. Joins
  // the thread, unless it is the calling thread.
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

// Only `Make` needs this header, so the library builds without hiredis. A
// program that has hiredis's headers but does not link it must define
// WAITER_NO_HIREDIS, as compilers may call hiredis from any code that destroys
// a connection.
#if __has_include(<hiredis/async.h>) && !defined(WAITER_NO_HIREDIS)
#include "waiter/redis/internal/hiredis_connection.h"  // IWYU pragma: keep
#endif

namespace waiter {

// Snapshot of a cluster's client, for metrics, logs and tests.
struct RedisClusterState {
  // Slots (of 16384) that have a node. Zero until a node has reported them.
  int64_t slots = 0;
  // Why no node reported the slots when all nodes were last asked.
  absl::Status error;
  int64_t refreshes = 0;  // Reports of the slots so far.
  int64_t moved = 0;      // Redirections of calls, so far.
  int64_t asked = 0;
  int64_t pending = 0;
  // The nodes that have or want a connection, by "host:port". Their `pending`
  // is not set.
  std::map<std::string, RedisClientState> nodes;
};

namespace internal {
class RedisClusterLoop;
}  // namespace internal

// A client of a Redis or Valkey cluster:
//
//   auto cluster = waiter::RedisCluster::Make(
//       {"redis://10.0.0.5:7000", "redis://10.0.0.6:7000"},
//       {.call_timeout = absl::Seconds(5)});
//
// A call goes to the primary that has the slot of its first key. The client
// asks a node for the slots at the start, after a redirection and while a node
// cannot be reached, at intervals that grow from 100 ms to 1 s.
//
// One thread holds all connections, one for each primary in use, so callbacks
// and timers never run at the same time. A slow callback holds up the calls to
// all nodes. Thread-safe. For children of fork(2), see `RedisClient`.
class RedisCluster final : public RedisCaller {
 public:
  // Returns a client that connects in the background, or an error of a URL or
  // of the options. Any reachable node in `seeds` is enough to find all others.
  // The users and passwords in the URLs must be the same, and are sent to all
  // nodes of the cluster; the database must be 0.
  //
  // `call_timeout` limits the time for each node's reply and for connecting;
  // `max_pending` limits the calls to all nodes. The delays of `reconnect` also
  // apply between requests for the slots while no node answers.
  template <typename Connection = internal::HiredisConnection>
  static absl::StatusOr<std::shared_ptr<RedisCluster>> Make(
      const std::vector<std::string>& seeds,
      const RedisClientOptions& options = {}) {
    static_assert(internal::IsComplete<Connection>,
                  "Waiter's Redis client needs hiredis, and its headers are "
                  "missing. On Debian: apt-get install libhiredis-dev");
    if constexpr (internal::IsComplete<Connection>) {
      return MakeWith(seeds, options, internal::ConnectorOf<Connection>());
    }
  }

  // As `~RedisClient` does: closes all connections, and calls the callbacks of
  // all unanswered calls with kCancelled. Earlier calls are still sent if there
  // is a connection to their node. Joins the thread, unless it is the calling
  // thread.
  ~RedisCluster() override;

  RedisCluster(const RedisCluster&) = delete;
  RedisCluster& operator=(const RedisCluster&) = delete;

  // There must be a key (or kInvalidArgument), and all keys must be in one
  // slot; the same text in braces ensures this, as in
  // "waiter:{prod/job/3}:due". A call that a node redirects goes to the other
  // node, up to five times. After that, or while the slot has no node or is
  // being moved, it fails with kAborted, without effect. A call that failed
  // with kUnavailable is never repeated.
  void Call(const RedisScript& script, std::vector<std::string> keys,
            std::vector<std::string> arguments, Callback callback) override;
  void RunAt(MonotonicTime time, std::function<void()> timer) override;
  Clock& clock() const override;

  RedisClusterState State() const;

 private:
  static absl::StatusOr<std::shared_ptr<RedisCluster>> MakeWith(
      const std::vector<std::string>& seeds, const RedisClientOptions& options,
      internal::RedisConnector connector);

  explicit RedisCluster(std::shared_ptr<internal::RedisClusterLoop> loop);

  // Also held by the thread.
  const std::shared_ptr<internal::RedisClusterLoop> loop_;
};

}  // namespace waiter

#endif  // WAITER_REDIS_CLIENT_H_
