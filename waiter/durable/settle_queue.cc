// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/settle_queue.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "waiter/clock.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/leased_wait.h"
#include "waiter/durable/store.h"

namespace waiter::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Writes wait this long for others to share their batch. Releases wait longer,
// until they are due: they are not urgent, and many cost little more than one.
constexpr nanoseconds kFlushGap = milliseconds(5);
constexpr nanoseconds kReleaseGap = milliseconds(50);
constexpr nanoseconds kFailedWriteGap = seconds(1);

int64_t DelayMicros(MonotonicTime wake_up, MonotonicTime now) {
  return std::chrono::duration_cast<microseconds>(
             std::max<nanoseconds>(wake_up - now, {}))
      .count();
}

}  // namespace

void SettleQueue::Resize(size_t partitions) {
  partitions_.resize(partitions);
  timers_.Resize(partitions);
}

bool SettleQueue::Add(size_t partition, const WaitPtr& wait, MonotonicTime now,
                      bool is_draining) {
  std::vector<WaitPtr>& waits = partitions_[partition].waits;
  if (!wait->wants_write()) {
    wait->SetWantsWrite(true);
    waits.push_back(wait);
  }
  MonotonicTime time = now + kFlushGap;
  if (wait->write() == SettleAction::kRelease && !is_draining) {
    time = std::clamp(wait->wake_up(), time, now + kReleaseGap);
  }
  timers_.Hasten(partition, time);
  // Not true for each further wait while many wait for a reply.
  return waits.size() % kMaxBatch == 0;
}

void SettleQueue::AddRelease(size_t partition, SettleItem item,
                             MonotonicTime wake_up, MonotonicTime now) {
  partitions_[partition].releases.emplace_back(std::move(item), wake_up);
  timers_.Hasten(partition, now + kFlushGap);
}

void SettleQueue::DropRenewals() {
  for (Partition& partition : partitions_) {
    std::erase_if(partition.waits, [](const WaitPtr& wait) {
      const bool is_renewal = wait->write() == SettleAction::kHold;
      if (is_renewal) wait->SetWantsWrite(false);
      return is_renewal;
    });
  }
}

SettleQueue::Batch SettleQueue::Take(size_t partition, MonotonicTime now) {
  Partition& queue = partitions_[partition];
  Batch batch;
  std::vector<WaitPtr> later;
  for (WaitPtr& wait : queue.waits) {
    if (wait->is_lost()) continue;
    if (wait->is_writing() || batch.items.size() == kMaxBatch) {
      later.push_back(std::move(wait));
      continue;
    }
    SettleItem item = wait->BeginWrite();
    if (item.action == SettleAction::kRelease) {
      item.delay_us = DelayMicros(wait->wake_up(), now);
    }
    batch.sent.push_back({std::move(wait), item.action});
    batch.items.push_back(std::move(item));
  }
  // Waits in flight are sent again after their replies.
  const bool is_full = batch.items.size() == kMaxBatch && !later.empty();
  for (auto& [item, wake_up] : queue.releases) {
    item.delay_us = DelayMicros(wake_up, now);
    batch.items.push_back(std::move(item));
  }
  queue.waits = std::move(later);
  queue.releases.clear();
  timers_.Set(partition, is_full ? now : MonotonicTime::max());
  return batch;
}

std::vector<SettleQueue::Outcome> SettleQueue::OnReply(
    size_t partition, const std::vector<Sent>& sent, const SettleReply& reply,
    MonotonicTime lease_end, MonotonicTime now) {
  const absl::flat_hash_set<absl::string_view> lost(reply.lost.begin(),
                                                    reply.lost.end());
  std::vector<Outcome> outcomes;
  for (const auto& [wait, action] : sent) {
    if (wait->is_lost()) continue;
    if (lost.contains(wait->key())) {
      outcomes.push_back({wait, LeasedWait::Event::kLose});
      continue;
    }
    const std::optional<LeasedWait::Event> event =
        wait->OnWritten(action, {DueNumber(reply.fence), lease_end});
    if (event.has_value()) outcomes.push_back({wait, *event, action});
  }
  if (!partitions_[partition].waits.empty()) timers_.Set(partition, now);
  return outcomes;
}

std::vector<SettleQueue::Outcome> SettleQueue::OnError(
    size_t partition, const std::vector<Sent>& sent, MonotonicTime now) {
  Partition& queue = partitions_[partition];
  std::vector<Outcome> outcomes;
  for (const auto& [wait, action] : sent) {
    if (wait->is_lost()) continue;
    wait->OnWriteFailed();
    if (action == SettleAction::kHold) continue;
    if (now >= wait->lease().end) {
      outcomes.push_back({wait, LeasedWait::Event::kLose});
    } else if (!wait->wants_write()) {
      wait->SetWantsWrite(true);
      queue.waits.push_back(wait);
    }
  }
  if (!queue.waits.empty()) timers_.Hasten(partition, now + kFailedWriteGap);
  return outcomes;
}

}  // namespace waiter::internal
