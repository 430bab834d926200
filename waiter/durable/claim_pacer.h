// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When a worker claims waits, from which partition, and how many. Has no lock,
// clock or store:
//
//   ClaimPacer pacer(max_held, claim_batch);
//   const size_t name = pacer.AddName({.max_held = 100, .partitions = 16});
//   pacer.Open(name);
//   while (std::optional<ClaimPacer::Claim> claim = pacer.Next(now)) {
//     // Claim `claim->max_waits` from `claim->partition`; on the reply:
//     pacer.OnReply(*claim, count, next_due_in, rank, now);
//   }

#ifndef WAITER_DURABLE_CLAIM_PACER_H_
#define WAITER_DURABLE_CLAIM_PACER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "waiter/clock.h"
#include "waiter/durable/partition_timers.h"

namespace waiter::internal {

// Thread-compatible. Invariants:
//   - The waits that are held, plus the waits that claims in flight may bring,
//     are at most `max_held`, for the worker and for each name.
//   - An open partition is in exactly one place: due at a time, parked until
//     its name has room, or claimed from.
//   - Each claim is for a batch, or for half of the waits that the name may
//     have due and not polled if that is less, unless a limit is lower: small
//     claims cost as much as large ones.
//   - That number follows the number of polls that the worker can make within
//     half a second of a claim, and the window. The worker leaves other waits
//     to other workers.
class ClaimPacer {
 public:
  struct Name {
    int64_t max_held = 0;
    bool is_limited = false;  // By a rate limiter.
    // The most waits that one call polls, and the time in which it collects
    // them.
    int64_t max_batch = 1;
    std::chrono::nanoseconds window = {};
    size_t partitions = 0;
  };
  struct Claim {
    size_t partition = 0;
    int64_t max_waits = 0;
    int64_t expected = 0;
  };

  ClaimPacer(int64_t max_held, int64_t claim_batch)
      : max_held_(max_held), claim_batch_(claim_batch) {}

  // Returns the number of the name, from 0. The numbers of its partitions
  // follow the numbers of earlier names' partitions.
  size_t AddName(const Name& name);
  // Allows claims from the partitions of a name. Later calls do nothing.
  void Open(size_t name);

  // Returns a claim to be sent now; nullopt if none is due or has room.
  std::optional<Claim> Next(MonotonicTime now);
  // When `Next` may return a claim, if nothing else happens.
  MonotonicTime next_time() const {
    return is_full_ ? MonotonicTime::max() : timers_.Next();
  }
  // A claim returned `count` waits, or failed: nullopt. `next_due_in` is the
  // time until the next wait of the partition is due, if the store knows it.
  void OnReply(const Claim& claim, std::optional<int64_t> count,
               std::optional<std::chrono::nanoseconds> next_due_in,
               int64_t rank, MonotonicTime now);

  // A wait is held, or no longer.
  void OnHeld(size_t name);
  void OnGone(size_t name);
  // A held wait is due, or no longer due without a poll under its lease.
  void OnDue(size_t name) { ++names_[name].due; }
  void OnPolled(size_t name, MonotonicTime due_since, MonotonicTime now);

  // A wait was released. Earlier claims did not see when it is due.
  void OnReleased(size_t partition, MonotonicTime wake_up, int64_t rank,
                  MonotonicTime now);
  // A worker that claimed more often from the partition is gone.
  void OnRank(size_t partition, int64_t rank, MonotonicTime now);

  // Whether a wait that sleeps should leave its place to others.
  bool IsFull(size_t name, bool is_due) const;

  int64_t held() const { return held_; }
  // How many waits of the name may be due and not polled.
  int64_t max_due(size_t name) const { return names_[name].max_due; }

 private:
  struct NameState {
    Name options;
    size_t first_partition;
    int64_t first_max_due;
    int64_t max_due;
    // When `max_due` grew, or was lowered because it was not used.
    MonotonicTime last_change = {};
    bool is_open = false;
    int64_t held = 0;
    int64_t due = 0;
    int64_t requested = 0;  // By claims in flight.
    int64_t expected = 0;   // From claims in flight.
    // Due partitions that wait for room, by the time at which they were due.
    std::set<std::pair<MonotonicTime, size_t>> parked = {};
  };
  struct Partition {
    size_t name;
    std::optional<int64_t> last_count = {};  // Number of waits claimed.
  };

  // How many more waits may be claimed; zero if too few.
  int64_t RoomForDue(const NameState& name) const;
  void AdaptToQueue(NameState& name, std::chrono::nanoseconds queued,
                    MonotonicTime now) const;
  void Unpark(NameState& name);
  NameState& NameOf(size_t partition) {
    return names_[partitions_[partition].name];
  }

  const int64_t max_held_;
  const int64_t claim_batch_;
  std::vector<NameState> names_;
  std::vector<Partition> partitions_;
  PartitionTimers timers_;
  bool is_full_ = false;  // The worker had no room.
  int64_t held_ = 0;
  int64_t requested_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_CLAIM_PACER_H_
