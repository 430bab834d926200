// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time at which something is next due in each partition:
//
//   PartitionTimers timers;
//   timers.Resize(16);
//   timers.Hasten(3, now);
//   std::optional<size_t> partition = timers.Due(now);  // 3

#ifndef WAITER_DURABLE_PARTITION_TIMERS_H_
#define WAITER_DURABLE_PARTITION_TIMERS_H_

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "waiter/clock.h"

namespace waiter::internal {

// Thread-compatible. A partition whose time is `max()` is never due.
class PartitionTimers {
 public:
  void Resize(size_t partitions) {
    times_.resize(partitions, MonotonicTime::max());
  }

  MonotonicTime At(size_t partition) const { return times_[partition]; }

  void Set(size_t partition, MonotonicTime time) {
    order_.erase({times_[partition], partition});
    times_[partition] = time;
    if (time != MonotonicTime::max()) order_.emplace(time, partition);
  }

  void Hasten(size_t partition, MonotonicTime time) {
    if (time < times_[partition]) Set(partition, time);
  }

  MonotonicTime Next() const {
    return order_.empty() ? MonotonicTime::max() : order_.begin()->first;
  }

  // Returns the partition that has been due for longest.
  std::optional<size_t> Due(MonotonicTime now) const {
    if (order_.empty() || Next() > now) return std::nullopt;
    return order_.begin()->second;
  }

 private:
  std::vector<MonotonicTime> times_;
  std::set<std::pair<MonotonicTime, size_t>> order_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_PARTITION_TIMERS_H_
