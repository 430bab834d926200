// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/event_queue.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace waiter::sim {
namespace {

// Returns the number of bits of an index. It is at least one, so that the key
// of no client is `kRemoved`.
int IndexBits(size_t clients) {
  return std::max(1,
                  static_cast<int>(std::bit_width(std::bit_ceil(clients) - 1)));
}

}  // namespace

std::chrono::nanoseconds EventQueue::LatestTime(size_t clients) {
  return std::chrono::nanoseconds(
      static_cast<int64_t>((kRemoved >> IndexBits(clients)) - 1));
}

EventQueue::EventQueue(absl::Span<const std::chrono::nanoseconds> times)
    : left_(times.size()),
      index_bits_(IndexBits(times.size())),
      losers_(std::bit_ceil(times.size())) {
  assert(times.size() <= kMaxClients);
  // Winners of all nodes; the leaves follow the inner nodes.
  std::vector<Key> winners(2 * losers_.size(), kRemoved);
  for (size_t i = 0; i < times.size(); ++i) {
    winners[losers_.size() + i] = Entry(times[i], i);
  }
  for (size_t node = losers_.size() - 1; node > 0; --node) {
    const auto [winner, loser] =
        std::minmax(winners[2 * node], winners[2 * node + 1]);
    winners[node] = winner;
    losers_[node] = loser;
  }
  earliest_ = winners[1];
}

}  // namespace waiter::sim
