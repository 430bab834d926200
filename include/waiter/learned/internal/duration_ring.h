// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The newest durations of one operation.

#ifndef WAITER_LEARNED_INTERNAL_DURATION_RING_H_
#define WAITER_LEARNED_INTERNAL_DURATION_RING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace waiter::internal {

// Seconds from the start of a wait: the operation was not done at `after` and
// was done at `by`, which is infinite if it had not ended. As floats, whose
// error of 6e-8 is far below what polls can see.
struct DurationBounds {
  float after = 0;
  float by = std::numeric_limits<float>::infinity();

  bool has_end() const { return by < std::numeric_limits<float>::infinity(); }
};

// Keeps the last 128 that were added; about 1 KiB. Thread-compatible.
class DurationRing {
 public:
  static constexpr size_t kCapacity = 128;

  void Add(DurationBounds bounds) {
    bounds_[static_cast<size_t>(added_) % kCapacity] = bounds;
    ++added_;
  }

  // Returns the number of durations that were ever added.
  int64_t added() const { return added_; }

  // Returns the kept durations, the oldest first.
  std::vector<DurationBounds> Kept() const {
    std::vector<DurationBounds> kept;
    const auto size = static_cast<int64_t>(kCapacity);
    const int64_t count = (std::min)(added_, size);
    kept.reserve(static_cast<size_t>(count));
    for (int64_t i = added_ - count; i < added_; ++i) {
      kept.push_back(bounds_[static_cast<size_t>(i) % kCapacity]);
    }
    return kept;
  }

 private:
  std::array<DurationBounds, kCapacity> bounds_;
  int64_t added_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_INTERNAL_DURATION_RING_H_
