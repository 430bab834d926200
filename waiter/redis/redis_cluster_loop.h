// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The thread of a `RedisCluster`: which node has which slot, and what to do
// with calls that went to another node.

#ifndef WAITER_REDIS_REDIS_CLUSTER_LOOP_H_
#define WAITER_REDIS_REDIS_CLUSTER_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/redis_connection.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/redis_link.h"
#include "waiter/redis/redis_loop.h"
#include "waiter/redis/redis_slots.h"
#include "waiter/redis/redis_url.h"

namespace waiter::internal {

class RedisClusterLoop final : public RedisLoop {
 public:
  // All seeds have the same user and password, and there is one.
  RedisClusterLoop(std::vector<RedisUrl> seeds,
                   const RedisClientOptions& options, RedisConnector connector);
  ~RedisClusterLoop() override = default;

  RedisClusterState State() const;

 private:
  struct Node {
    Node(RedisUrl url, const RedisClientOptions& options,
         const RedisConnector& connector, RedisLink::Owner& owner)
        : link(std::move(url), options, connector, owner) {}

    RedisLink link;
    bool is_used = false;  // One of `links_`.
    bool has_slots = false;
    // When it is dropped if it has no slots.
    MonotonicTime end{};
    // Until then, other nodes are preferred for asking about the slots, because
    // this one may be cut off from its cluster.
    MonotonicTime doubtful_end{};
  };

  void Route(RedisCall call) override;
  void Work(MonotonicTime now) override;
  MonotonicTime NextWork() const override;
  void Close(const absl::Status& status) override;
  void OnEnd(RedisLink& link, RedisCall call,
             absl::StatusOr<RedisReply> reply) override;
  void OnChange(RedisLink& link) override;

  RedisUrl UrlOf(const RedisAddress& address) const;
  Node& NodeAt(const RedisAddress& address);
  void Send(Node& node, RedisCall call);
  void Redirect(const RedisLink& from, RedisCall call, const std::string& error,
                const RedisRedirection& to);
  // The time of a call or a request that is sent now.
  MonotonicTime Deadline() const;

  // The request for the slots.
  bool WantsSlots() const;
  void AskSlots(MonotonicTime now);
  RedisAddress PickAsked(MonotonicTime now);
  void OnSlots(const RedisLink& link, const absl::StatusOr<RedisReply>& reply);
  void SetSlots(const std::vector<RedisSlotRange>& ranges);
  void OnNoSlots(const absl::Status& status);

  void DropNodes(MonotonicTime now);
  void EndUnrouted(MonotonicTime now);
  void Publish();

  const std::vector<RedisUrl> seeds_;
  const RedisClientOptions options_;
  const RedisConnector connector_;

  std::map<std::string, Node> nodes_;  // By "host:port".
  std::vector<Node*> slots_;           // Null without a node.
  bool has_slots_ = false;
  std::deque<RedisCall> unrouted_;  // Until there are slots.

  std::vector<RedisAddress> known_;  // All nodes that may know the slots.
  size_t next_known_ = 0;
  bool is_asking_ = false;
  bool is_stale_ = true;
  MonotonicTime next_ask_{};
  MonotonicTime last_ask_{};
  size_t failures_ = 0;   // Since a node answered.
  absl::Status failure_;  // The most specific of these.
  absl::Status error_;    // Error of the last time that all nodes failed.
  const Backoff backoff_;
  BackoffProgress progress_;
  SplitMix64 gen_;

  int64_t refreshes_ = 0;
  int64_t moved_ = 0;
  int64_t asked_ = 0;
  bool is_changed_ = false;
  RedisClusterState state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_CLUSTER_LOOP_H_
