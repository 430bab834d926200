// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A queue of the next events of many clients, with one event for each.
//
//   waiter::sim::EventQueue queue(first_times);
//   for (; !queue.empty();) {
//     if (IsDone(queue.client(), queue.time())) {
//       queue.Remove();
//     } else {
//       queue.Reschedule(NextTime(queue.client()));
//     }
//   }
//
// It is a tournament of losers: the leaves are the clients, each inner node
// keeps the later of two times, and the earlier one moves up. A step replays
// the path from the leaf of the earliest client to the root. It has no branch
// that depends on the times; such branches make heaps slow here.

#ifndef WAITER_CLI_SIM_EVENT_QUEUE_H_
#define WAITER_CLI_SIM_EVENT_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace waiter::sim {

// Times count from the start of a simulation. Thread-compatible. A step takes
// log2(clients) comparisons and never allocates.
class EventQueue {
 public:
  // `times` has the first event of each client, by its index. Requires at most
  // `kMaxClients` times, none of them below zero or beyond
  // `LatestTime(times.size())`.
  explicit EventQueue(absl::Span<const std::chrono::nanoseconds> times);

  static constexpr size_t kMaxClients = size_t{1} << 24;

  // Returns the latest time that fits into a queue of `clients` clients: 833
  // days for 200, and 39 hours for 100,000.
  static std::chrono::nanoseconds LatestTime(size_t clients);

  // Returns whether all clients have been removed.
  bool empty() const { return left_ == 0; }

  // Return the time and the client of the earliest event; at equal times, of
  // the first client. Require that the queue is not empty.
  std::chrono::nanoseconds time() const {
    return std::chrono::nanoseconds(earliest_ >> index_bits_);
  }
  size_t client() const {
    return earliest_ & ((uint64_t{1} << index_bits_) - 1);
  }

  // Replaces the event of `client()` by its next one.
  void Reschedule(std::chrono::nanoseconds time) {
    const size_t index = client();
    Replay(Entry(time, index), index);
  }

  // Removes `client()`.
  void Remove() {
    --left_;
    Replay(kRemoved, client());
  }

 private:
  // A time in the upper bits, and the index of its client in the lower ones.
  using Key = uint64_t;
  static constexpr Key kRemoved = std::numeric_limits<Key>::max();

  Key Entry(std::chrono::nanoseconds time, size_t index) const {
    return static_cast<Key>(time.count()) << index_bits_ | index;
  }

  void Replay(Key key, size_t index) {
    for (size_t node = (losers_.size() + index) / 2; node > 0; node /= 2) {
      const Key other = losers_[node];
      losers_[node] = key < other ? other : key;
      key = key < other ? key : other;
    }
    earliest_ = key;
  }

  size_t left_;
  int index_bits_;
  Key earliest_ = kRemoved;
  std::vector<Key> losers_;  // By node, from 1, the root; 0 is not used.
};

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_EVENT_QUEUE_H_
