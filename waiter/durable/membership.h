// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The live workers of a space, and the rank of this one in each partition:
//
//   Membership membership("pod-7");
//   membership.AddPartition("job", 0);
//   if (now >= membership.next_heartbeat()) {
//     membership.BeginHeartbeat(now);  // Then call the store.
//   }
//   ...
//   membership.OnWorkers(workers);
//   if (membership.rank(0) == 0) ...  // This worker claims most often.

#ifndef WAITER_DURABLE_MEMBERSHIP_H_
#define WAITER_DURABLE_MEMBERSHIP_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "waiter/clock.h"

namespace waiter::internal {

// Thread-compatible. The worker with the highest hash of its id and the
// partition has rank 0, so few ranks change when workers come and go.
class Membership {
 public:
  static constexpr std::chrono::seconds kHeartbeatGap{5};

  explicit Membership(std::string id) : id_(std::move(id)) {}

  const std::string& id() const { return id_; }

  // Partitions are numbered from 0 in the order of these calls.
  void AddPartition(const std::string& name, int index);

  MonotonicTime next_heartbeat() const { return next_; }
  void BeginHeartbeat(MonotonicTime now) { next_ = now + kHeartbeatGap; }

  // Takes the ids of the live workers. Returns the partitions in which a worker
  // with a better rank is gone.
  std::vector<size_t> OnWorkers(const std::vector<std::string>& workers);

  // The number of live workers with a better rank; 0 before the first
  // heartbeat.
  int64_t rank(size_t partition) const { return partitions_[partition].rank; }

 private:
  struct Partition {
    std::string suffix;
    int64_t rank = 0;
  };

  const std::string id_;
  std::vector<Partition> partitions_;
  MonotonicTime next_ = {};
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_MEMBERSHIP_H_
