// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Writes of a worker to its store: in batches, each under the current fencing
// token of the wait, and again if the reply was lost. Has no lock, clock or
// store:
//
//   queue.Add(partition, wait, now, is_draining);
//   ...
//   SettleQueue::Batch batch = queue.Take(partition, now);
//   store.Settle({.items = std::move(batch.items)}, ...);
//   for (auto& [wait, event, done] : queue.OnReply(partition, batch.sent, ...))
//     // Apply `event` to `wait`.

#ifndef WAITER_DURABLE_SETTLE_QUEUE_H_
#define WAITER_DURABLE_SETTLE_QUEUE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "waiter/clock.h"
#include "waiter/durable/leased_wait.h"
#include "waiter/durable/partition_timers.h"
#include "waiter/durable/store.h"

namespace waiter::internal {

// Thread-compatible. Invariants:
//   - A wait is queued at most once: while `wants_write`. Its state when it is
//     sent decides the write, so a later write replaces an earlier one.
//   - A wait whose write is in flight stays queued until the reply.
//   - Nothing is sent for a wait that is lost.
class SettleQueue {
 public:
  using WaitPtr = std::shared_ptr<LeasedWait>;

  static constexpr size_t kMaxBatch = 250;

  struct Sent {
    WaitPtr wait;
    SettleAction action;
  };
  struct Batch {
    std::vector<SettleItem> items;
    std::vector<Sent> sent;
  };
  struct Outcome {
    WaitPtr wait;
    LeasedWait::Event event;
    std::optional<SettleAction> done = {};  // Unset if the lease was lost.
  };

  void Resize(size_t partitions);

  // Queues the write that the state of `wait` asks for. Releases that are due
  // later wait for others, unless the worker drains. Returns whether there is a
  // full batch, to be taken now.
  bool Add(size_t partition, const WaitPtr& wait, MonotonicTime now,
           bool is_draining);
  // Releases a wait that the worker does not hold otherwise.
  void AddRelease(size_t partition, SettleItem item, MonotonicTime wake_up,
                  MonotonicTime now);
  // Forgets renewals that were not sent.
  void DropRenewals();

  std::optional<size_t> Due(MonotonicTime now) const {
    return timers_.Due(now);
  }
  MonotonicTime next_time() const { return timers_.Next(); }

  // Returns a batch to be sent now. It has no items if nothing is queued, or
  // everything waits for replies.
  Batch Take(size_t partition, MonotonicTime now);

  // Returns the meaning of the reply to a batch, or of an error instead, for
  // its waits. New leases end at `lease_end`. After an error, writes other than
  // renewals are sent again while their leases last; if the store had done such
  // a write, it reports the wait as lost.
  std::vector<Outcome> OnReply(size_t partition, const std::vector<Sent>& sent,
                               const SettleReply& reply,
                               MonotonicTime lease_end, MonotonicTime now);
  std::vector<Outcome> OnError(size_t partition, const std::vector<Sent>& sent,
                               MonotonicTime now);

 private:
  struct Partition {
    std::vector<WaitPtr> waits;
    std::vector<std::pair<SettleItem, MonotonicTime>> releases;
  };

  std::vector<Partition> partitions_;
  PartitionTimers timers_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_SETTLE_QUEUE_H_
