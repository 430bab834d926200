// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Times in cells whose widths grow with the time: each octave has the same
// number of cells, of equal width. The cell of a time is a shift of the bits of
// a float, without a logarithm.
//
//   const LogGrid grid = LogGrid::Over(10, 100, 256);
//   grid.Edge(0);               // At most 10.
//   grid.Edge(grid.size());     // Above 100.
//   grid.CellOf(42);            // Index of the cell that holds 42.

#ifndef WAITER_LEARNED_LOG_GRID_H_
#define WAITER_LEARNED_LOG_GRID_H_

#include <bit>
#include <cstdint>

namespace waiter::internal {

// A value. Times are in seconds, above zero.
class LogGrid {
 public:
  // An empty grid.
  LogGrid() = default;

  // Returns the finest grid of at most `max_size` cells whose cells cover
  // `low` and `high`. Requires 0 < low <= high and that `max_size` is above the
  // number of octaves between them.
  static LogGrid Over(float low, float high, int32_t max_size) {
    LogGrid grid;
    for (grid.shift_ = kLeastShift; grid.shift_ < kMantissaBits;
         ++grid.shift_) {
      if (grid.Cover(low, high) <= max_size) break;
    }
    grid.size_ = grid.Cover(low, high);
    return grid;
  }

  int32_t size() const { return size_; }

  // Returns the lower edge of cell `k`, within [0, size()].
  float Edge(int32_t k) const {
    return std::bit_cast<float>(static_cast<uint32_t>(base_ + k) << shift_);
  }

  // Returns the cell that holds `time`. Below zero, or `size()` and above, if
  // none does.
  int32_t CellOf(float time) const { return Shifted(time) - base_; }

 private:
  static constexpr int32_t kMantissaBits = 23;
  // Cells of a billionth, near the precision of a float, are useless.
  static constexpr int32_t kLeastShift = 6;

  int32_t Shifted(float time) const {
    return static_cast<int32_t>(std::bit_cast<uint32_t>(time) >> shift_);
  }

  int32_t Cover(float low, float high) {
    base_ = Shifted(low);
    return CellOf(high) + 1;
  }

  int32_t shift_ = kMantissaBits;
  int32_t base_ = 0;
  int32_t size_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_LOG_GRID_H_
