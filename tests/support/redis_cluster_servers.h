// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A real Redis Cluster of three primaries with a replica each, on free ports of
// 127.0.0.1:
//
//   if (!RedisServer::IsInstalled()) GTEST_SKIP() << "no redis-server";
//   RedisClusterServers cluster;
//   cluster.MoveSlot(12182, cluster.PrimaryOf(12182), 0);
//   cluster.node(0).Kill();  // Its replica takes over after 1 to 3 s.

#ifndef WAITER_TESTS_SUPPORT_REDIS_CLUSTER_SERVERS_H_
#define WAITER_TESTS_SUPPORT_REDIS_CLUSTER_SERVERS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/redis_server.h"

namespace waiter {

// Thread-compatible.
class RedisClusterServers {
 public:
  static constexpr size_t kPrimaries = 3;
  static constexpr size_t kNodes = 2 * kPrimaries;

  // Returns when all nodes know each other, and replicas are up to date.
  RedisClusterServers();
  ~RedisClusterServers();
  RedisClusterServers(const RedisClusterServers&) = delete;
  RedisClusterServers& operator=(const RedisClusterServers&) = delete;

  // At first, nodes from index `kPrimaries` on are replicas of the nodes
  // before.
  RedisServer& node(size_t index) { return *nodes_[index]; }
  std::vector<std::string> Urls() const;

  // Returns the primary of a slot, according to the node `asked`, which must be
  // running.
  size_t PrimaryOf(int slot, size_t asked = 0) const;

  // Moves a slot with its keys, as `redis-cli --cluster reshard` does. Calls
  // `between`, if it is set, when half of the keys have moved.
  void MoveSlot(int slot, size_t from, size_t to,
                const std::function<void()>& between = nullptr) const;

  // Waits until `node` is a primary, and fails if that takes longer than 20 s.
  void AwaitPrimary(size_t node) const;

  // Waits until each primary has a replica that is up to date, and fails if
  // that takes longer than 20 s. All nodes must be running.
  void AwaitReplicas() const;

 private:
  void AwaitAll(const std::string& command, const std::string& section,
                const std::string& line, size_t first, size_t end) const;
  // Expects that the answer is OK.
  void Order(size_t node, const std::vector<std::string>& command) const;

  const std::string folder_;
  std::vector<int> bus_ports_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_REDIS_CLUSTER_SERVERS_H_
