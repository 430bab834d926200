// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs scripts on a Redis Cluster, or one of Valkey, version 7.0 or newer, as
// `RedisClient` does on one server:
//
//   auto cluster = waiter::RedisCluster::Make(
//       {"redis://10.0.0.5:7000", "redis://10.0.0.6:7000"},
//       {.call_timeout = absl::Seconds(5)});
//   if (!cluster.ok()) return cluster.status();
//   const auto waits = std::make_shared<waiter::RedisWaitStore>(*cluster);
//   const auto budgets = std::make_shared<waiter::RedisBudgetStore>(*cluster);
//
// A call goes to the primary that has the slot of its first key. Which that is,
// nodes tell: one of them at the start, and again after a redirection and while
// a node cannot be reached, with gaps that grow from 100 ms to 1 s.
//
// One thread holds all connections, one for each primary that is used, so that
// callbacks and timers never run at the same time. What a callback takes holds
// up the calls to all nodes.
//
// Your target has to link hiredis, 0.14 or newer. There is no TLS.

#ifndef WAITER_DISTRIBUTED_REDIS_CLUSTER_H_
#define WAITER_DISTRIBUTED_REDIS_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/distributed/internal/redis_connection.h"
#include "waiter/distributed/redis_caller.h"
#include "waiter/distributed/redis_client.h"
#include "waiter/distributed/redis_reply.h"

namespace waiter {

// Snapshot of a cluster's client, for metrics, logs and tests.
struct RedisClusterState {
  // Slots that have a node, of 16384. Zero until a node has told.
  int64_t slots = 0;
  // Why the nodes did not tell, the last time that they were all asked.
  absl::Status error;
  int64_t refreshes = 0;  // Times that a node told, so far.
  int64_t moved = 0;      // Redirections of calls, so far.
  int64_t asked = 0;
  int64_t pending = 0;
  // Those with a connection or the wish for one, by "host:port". Their
  // `pending` is not set.
  std::map<std::string, RedisClientState> nodes;
};

namespace internal {
class RedisClusterLoop;
}  // namespace internal

// Thread-safe.
class RedisCluster final : public RedisCaller {
 public:
  // Returns a client that connects in the background, or an error of a URL or
  // of the options. Of the nodes `seeds`, any one that can be reached is enough
  // to find all. Users and passwords of their URLs must be the same, and are
  // sent to all nodes of the cluster; the database must be 0.
  //
  // `call_timeout` is the time for the reply of each node, and for a
  // connection; `max_pending` counts the calls to all nodes; the delays of
  // `reconnect` are also those between requests for the slots while no node
  // answers them.
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

  // As `RedisClient` does: closes all connections, and calls the callbacks of
  // all calls without reply with kCancelled. Calls that were made before are
  // still sent if there is a connection to their node. Joins the thread, unless
  // it runs on this thread itself.
  ~RedisCluster() override;

  RedisCluster(const RedisCluster&) = delete;
  RedisCluster& operator=(const RedisCluster&) = delete;

  // There must be a key (kInvalidArgument), and all must be of one slot: by the
  // same text in braces, as "waiter:{prod/job/3}:due". A call that a node did
  // not run, but sent on to another one, goes there, up to five times. Then,
  // and while a slot has no node or is on its way to another one, it fails with
  // kAborted and had no effect. What failed with kUnavailable is never sent
  // again.
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

#endif  // WAITER_DISTRIBUTED_REDIS_CLUSTER_H_
