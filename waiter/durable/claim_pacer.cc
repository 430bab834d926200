// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/claim_pacer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "waiter/clock.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Maximum times between two claims from a partition, by rank.
constexpr std::array<nanoseconds, 3> kClaimGaps = {milliseconds(250),
                                                   seconds(2), seconds(30)};
constexpr nanoseconds kMinClaimGap = milliseconds(5);
constexpr nanoseconds kFailedClaimGap = seconds(1);
// Batches of waits that may be due and not polled. Fewer if they wait for a
// limiter, as other workers may have more of the rate.
constexpr int64_t kBatchesDue = 6;
constexpr int64_t kLimitedBatchesDue = 1;
// How many waits may be due and not polled at first, unless one call polls
// more. The number falls if a wait is in that queue for longer than
// `kMaxQueued`, not counting its window, and grows if it is for less than half
// of that.
constexpr int64_t kFirstMaxDue = 8;
constexpr nanoseconds kMaxQueued = milliseconds(500);
constexpr nanoseconds kUnusedGap = seconds(1);
// The room that sleeping waits leave, in batches and as a fraction of all.
constexpr int64_t kBatchesOfRoom = 10;
constexpr int64_t kFractionOfRoom = 8;

nanoseconds ClaimGap(int64_t rank) {
  return kClaimGaps.at(
      std::min(static_cast<size_t>(rank), kClaimGaps.size() - 1));
}

}  // namespace

size_t ClaimPacer::AddName(const Name& name) {
  // Waits that a call collects in its window are no queue.
  const int64_t max_due =
      name.window > nanoseconds::zero()
          ? claim_batch_
          : std::min(std::max(kFirstMaxDue, name.max_batch), claim_batch_);
  names_.push_back({.options = name,
                    .first_partition = partitions_.size(),
                    .first_max_due = max_due,
                    .max_due = max_due});
  partitions_.resize(partitions_.size() + name.partitions,
                     {.name = names_.size() - 1});
  timers_.Resize(partitions_.size());
  return names_.size() - 1;
}

void ClaimPacer::Open(size_t name) {
  NameState& state = names_[name];
  if (std::exchange(state.is_open, true)) return;
  for (size_t i = 0; i < state.options.partitions; ++i) {
    timers_.Set(state.first_partition + i, {});
  }
}

// The partitions that are due for longest come first, as there may be room for
// a few only.
std::optional<ClaimPacer::Claim> ClaimPacer::Next(MonotonicTime now) {
  while (!is_full_) {
    const std::optional<size_t> partition = timers_.Due(now);
    if (!partition.has_value()) return std::nullopt;
    const int64_t room = max_held_ - held_ - requested_;
    if (room <= 0) {
      is_full_ = true;
      return std::nullopt;
    }
    NameState& name = NameOf(*partition);
    const int64_t max_waits =
        std::min({claim_batch_, room, RoomForDue(name),
                  name.options.max_held - name.held - name.requested});
    const MonotonicTime time = timers_.At(*partition);
    timers_.Set(*partition, MonotonicTime::max());
    if (max_waits <= 0) {
      name.parked.emplace(time, *partition);
      continue;
    }
    // Most claims find little; a first one may find anything.
    const int64_t expected = std::min(
        max_waits, partitions_[*partition].last_count.value_or(max_waits));
    requested_ += max_waits;
    name.requested += max_waits;
    name.expected += expected;
    Unpark(name);
    return Claim{*partition, max_waits, expected};
  }
  return std::nullopt;
}

void ClaimPacer::OnReply(const Claim& claim, std::optional<int64_t> count,
                         std::optional<nanoseconds> next_due_in, int64_t rank,
                         MonotonicTime now) {
  NameState& name = NameOf(claim.partition);
  requested_ -= claim.max_waits;
  name.requested -= claim.max_waits;
  name.expected -= claim.expected;
  Unpark(name);
  nanoseconds gap = ClaimGap(rank);
  if (!count.has_value()) {
    gap = kFailedClaimGap;
  } else if (*count == claim.max_waits) {
    gap = nanoseconds::zero();
  } else if (next_due_in.has_value()) {
    gap = std::min(gap, std::max(*next_due_in, kMinClaimGap));
  }
  if (count.has_value()) {
    partitions_[claim.partition].last_count = count;
    // Room that is not used is given up, as polls may have become slower.
    if (2 * *count < claim.max_waits && name.max_due > name.first_max_due &&
        now - name.last_change >= kUnusedGap) {
      name.max_due -= name.max_due / 8;
      name.last_change = now;
    }
  }
  timers_.Set(claim.partition, now + gap);
}

void ClaimPacer::OnHeld(size_t name) {
  ++held_;
  ++names_[name].held;
}

void ClaimPacer::OnGone(size_t name) {
  --held_;
  --names_[name].held;
  Unpark(names_[name]);
}

void ClaimPacer::OnPolled(size_t name, MonotonicTime due_since,
                          MonotonicTime now) {
  NameState& state = names_[name];
  const bool had_room = RoomForDue(state) > 0;
  AdaptToQueue(state, now - due_since - state.options.window, now);
  --state.due;
  if (!had_room && RoomForDue(state) > 0) Unpark(state);
}

void ClaimPacer::OnReleased(size_t partition, MonotonicTime wake_up,
                            int64_t rank, MonotonicTime now) {
  if (rank > 0 || timers_.At(partition) == MonotonicTime::max()) return;
  timers_.Hasten(partition, std::max(wake_up, now + kMinClaimGap));
}

void ClaimPacer::OnRank(size_t partition, int64_t rank, MonotonicTime now) {
  if (timers_.At(partition) == MonotonicTime::max()) return;
  timers_.Hasten(partition, now + ClaimGap(rank));
}

bool ClaimPacer::IsFull(size_t name, bool is_due) const {
  const NameState& state = names_[name];
  const int64_t room =
      std::min(kBatchesOfRoom * claim_batch_, max_held_ / kFractionOfRoom);
  return max_held_ - held_ <= room || state.held >= state.options.max_held ||
         (!is_due && 2 * state.due > state.max_due);
}

int64_t ClaimPacer::RoomForDue(const NameState& name) const {
  const int64_t left = name.max_due - name.due - name.expected;
  return left >= std::min(claim_batch_, (name.max_due + 1) / 2) ? left : 0;
}

void ClaimPacer::AdaptToQueue(NameState& name, nanoseconds queued,
                              MonotonicTime now) const {
  if (queued > kMaxQueued) {
    name.max_due = std::max<int64_t>(name.max_due - 1, 1);
  } else if (2 * queued < kMaxQueued && RoomForDue(name) == 0) {
    const int64_t batches =
        name.options.is_limited ? kLimitedBatchesDue : kBatchesDue;
    name.max_due = std::min(name.max_due + 1, batches * claim_batch_);
    name.last_change = now;
  }
}

// Lets `Next` look for room for the first partition. If it finds room, the next
// partition follows.
void ClaimPacer::Unpark(NameState& name) {
  is_full_ = false;
  if (name.parked.empty()) return;
  const auto [time, partition] = *name.parked.begin();
  name.parked.erase(name.parked.begin());
  timers_.Set(partition, time);
}

}  // namespace waiter::internal
