// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A Redis Cluster whose nodes are killed and stopped, and whose slots move:
//
//   ClusterBreaker cluster(partitions);
//   cluster.Break(start, seed, {{4, 20}, {45, 70}});
//   while (!cluster.IsWhole()) ...
//   for (const ClusterBreaker::Event& event : cluster.TakeEvents()) ...

#ifndef WAITER_TESTS_DURABLE_CHAOS_CLUSTER_BREAKER_H_
#define WAITER_TESTS_DURABLE_CHAOS_CLUSTER_BREAKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/redis/chaos/stage.h"
#include "tests/support/joining_thread.h"
#include "tests/support/redis_cluster_servers.h"
#include "waiter/clock.h"

namespace waiter::chaos {

// Breaks nodes on a single thread, because a server ends with the thread that
// started it. Each fault waits until the cluster is whole again.
class ClusterBreaker {
 public:
  struct Event {
    std::string what;
    double from = 0;
    double to = 0;
    // Writes that the old primary acknowledged since then may be lost.
    std::optional<double> lost_from = {};
  };

  // Starts the nodes. `partitions` is the number of partitions of the waits.
  explicit ClusterBreaker(int partitions) : partitions_(partitions) {}
  ~ClusterBreaker() { ends_ = true; }
  ClusterBreaker(const ClusterBreaker&) = delete;
  ClusterBreaker& operator=(const ClusterBreaker&) = delete;

  std::string Url() const;

  // Breaks the cluster during `bursts`, in seconds since `start`. Call it only
  // once.
  void Break(MonotonicTime start, uint64_t seed,
             std::vector<std::pair<double, double>> bursts);

  // Returns whether all bursts have ended and all nodes run.
  bool IsWhole() const { return is_whole_; }

  // Call this only once the cluster is whole.
  std::vector<Event> TakeEvents() { return std::move(events_); }

 private:
  void BreakOnce();
  // Causes one fault of a primary and its replica.
  Event Fault(size_t primary, size_t replica);
  void MoveASlot();
  int SlotOf(int partition);
  size_t AnotherPrimary(size_t node);
  void Sleep(double least, double most);

  RedisClusterServers cluster_;
  // Used only by the thread.
  std::optional<Timeline> timeline_;
  std::optional<Dice> dice_;
  const int partitions_;
  std::vector<Event> events_;
  std::atomic<bool> is_whole_ = false;
  std::atomic<bool> ends_ = false;
  JoiningThread thread_;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_CLUSTER_BREAKER_H_
