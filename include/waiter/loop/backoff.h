// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Capped exponential delays with jitter.
//
// A `Backoff` owns no clock and no generator and never sleeps: equal inputs
// give equal delays.
//
//   const waiter::Backoff backoff({.initial_delay = absl::Seconds(1),
//                                  .max_delay = absl::Seconds(10),
//                                  .jitter = waiter::Jitter::Full()});
//   waiter::BackoffProgress progress;
//   waiter::SplitMix64 gen(42);
//   backoff.NextDelay(progress, gen);  // Somewhere in [10ms, 1s].
//   backoff.NextDelay(progress, gen);  // Somewhere in [10ms, 2s].
//   progress = {};                     // Start over.
//
// The ceilings alone, for a table or a plot:
//
//   for (int64_t n = 1; n <= 10; ++n) Print(backoff.Ceiling(n));
//
// The ceiling of the nth delay, n from 1, is
//
//   min(max_delay, initial_delay * multiplier^(n - 1))
//
// computed in floating point and compared before it becomes whole nanoseconds,
// so that no n overflows. `Jitter` (backoff_options.h) says how a delay is
// drawn under its ceiling.

#ifndef WAITER_LOOP_BACKOFF_H_
#define WAITER_LOOP_BACKOFF_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/numeric/int128.h"
#include "absl/random/random.h"
#include "waiter/backoff_options.h"

namespace waiter {

// Returns a delay that is uniform on `[low, high]`, both ends included, from
// one draw of `gen`. If `low` is not below `high`, returns `low` without a
// draw. Multiplies instead of dividing (Lemire, "Fast Random Integer Generation
// in an Interval", 2019) and draws no second time; the bias is below (high -
// low) / 2^64.
template <typename Gen>
std::chrono::nanoseconds UniformDelay(std::chrono::nanoseconds low,
                                      std::chrono::nanoseconds high, Gen& gen) {
  if (low >= high) return low;
  // The high half of the product is uniform on [0, high - low].
  const absl::uint128 product =
      absl::uint128(absl::Uniform<uint64_t>(gen)) *
      (static_cast<uint64_t>((high - low).count()) + 1);
  return low + std::chrono::nanoseconds(absl::Uint128High64(product));
}

// Position of one wait on one curve. A value of 8 bytes; assign `{}` to start
// over. May be used with one `Backoff` only. Thread-compatible.
class BackoffProgress {
 public:
  // For saving a wait: a number, zero or more, and the position that it was.
  int64_t ToInt64() const { return value_; }
  static BackoffProgress FromInt64(int64_t value) {
    BackoffProgress progress;
    progress.value_ = value;
    return progress;
  }

 private:
  friend class Backoff;
  // Delays given so far, or, for decorrelated jitter, the last one in ns.
  int64_t value_ = 0;
};

// Immutable, so safe to share between threads. About 700 bytes, because the
// windows up to the cap, at most 40, are computed in advance; the next delay
// then costs about 2 ns with `SplitMix64`.
class Backoff {
 public:
  // Requires `Validate(options, "").ok()`.
  explicit Backoff(const BackoffOptions& options);

  // Returns the ceiling of the `n`th delay, counted from 1, for every `n` up to
  // 2^63 - 1. It is finite, at least zero, and exact to the nanosecond up to
  // 104 days, the whole nanoseconds that a double holds. An infinite
  // `max_delay` counts as 2^62 ns, 146 years.
  std::chrono::nanoseconds Ceiling(int64_t n) const;

  // Returns the next delay and advances `progress`. Draws at most once from
  // `gen`, a `std::uniform_random_bit_generator`, and not at all where the
  // window is a single point.
  template <typename Gen>
  std::chrono::nanoseconds NextDelay(BackoffProgress& progress,
                                     Gen& gen) const {
    const std::chrono::nanoseconds delay = Draw(
        decorrelated_ ? WindowAfter(progress.value_) : NextWindow(progress),
        gen);
    if (decorrelated_) progress.value_ = delay.count();
    return delay;
  }

  // Moves `progress` on, never back, to the position of a wait that has
  // followed the curve, without jitter, for `elapsed`.
  void AdvanceTo(std::chrono::nanoseconds elapsed,
                 BackoffProgress& progress) const {
    if (progress.value_ < constant_from_) {
      progress.value_ = std::max(progress.value_, PositionAfter(elapsed));
    }
  }

  std::chrono::nanoseconds min_delay() const { return min_delay_; }

 private:
  // The ends of the interval on which a delay is uniform, before it is clamped.
  struct Window {
    std::chrono::nanoseconds low;
    std::chrono::nanoseconds high;
  };

  // With a multiplier of 2 every curve is at its cap, or at 2^40 times its
  // start, within the table.
  static constexpr int64_t kMaxTableSize = 40;

  template <typename Gen>
  std::chrono::nanoseconds Draw(const Window& window, Gen& gen) const {
    return std::clamp(UniformDelay(window.low, window.high, gen), min_delay_,
                      max_delay_);
  }

  // Returns the window of the next delay, and advances `progress`.
  Window NextWindow(BackoffProgress& progress) const {
    const int64_t n = std::min(++progress.value_, constant_from_);
    return n <= table_size_ ? table_[static_cast<size_t>(n - 1)] : WindowAt(n);
  }
  // Returns the value of a progress after `elapsed`.
  int64_t PositionAfter(std::chrono::nanoseconds elapsed) const;
  double CeilingInNanoseconds(int64_t n) const;
  // Returns the window of the `n`th delay.
  Window WindowAt(int64_t n) const {
    return WindowUnder(CeilingInNanoseconds(n));
  }
  Window WindowUnder(double ceiling) const;
  // Returns the window of decorrelated jitter; zero means no previous delay.
  Window WindowAfter(int64_t previous_delay) const;

  double initial_delay_;
  double multiplier_;
  std::chrono::nanoseconds min_delay_;
  std::chrono::nanoseconds max_delay_;
  Jitter jitter_;
  bool decorrelated_;
  // Ordinal of the window that stands for all later ones, if there is one.
  int64_t constant_from_ = std::numeric_limits<int64_t>::max();
  int64_t table_size_ = 0;
  // The first `table_size_` windows; the others are not initialized.
  std::array<Window, kMaxTableSize> table_;
};

}  // namespace waiter

#endif  // WAITER_LOOP_BACKOFF_H_
