// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Capped exponential backoff with jitter, set by `BackoffOptions`:
//
//   waiter::BackoffOptions backoff = {.initial_delay = absl::Seconds(1),
//                                     .max_delay = absl::Seconds(30),
//                                     .jitter = waiter::Jitter::Equal()};
//
// A constant delay is a backoff that does not grow:
//
//   waiter::BackoffOptions every_5s = {.initial_delay = absl::Seconds(5),
//                                      .max_delay = absl::Seconds(5),
//                                      .jitter = waiter::Jitter::None()};
//
// `WaitOptions` takes such parameters, and policy.h shows the delays of a wait
// in advance. `Backoff` computes delays for code that has no wait; `SplitMix64`
// is the random generator behind them.

#ifndef WAITER_BACKOFF_H_
#define WAITER_BACKOFF_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/numeric/int128.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/version.h"

namespace waiter {

// Random share of a delay. Without it, waits that start together poll together.
// Under a ceiling `c` every delay, including the first and those at the cap, is
// uniform on
//
//   None()           c
//   Full(s)          [(1 - s) c, c]
//   Equal()          [c / 2, c]
//   Proportional(p)  [(1 - p) c, (1 + p) c]
//   Between(a, b)    [a c, b c]
//   Decorrelated()   [initial_delay, 3 * the previous delay]
//
// and then clamped to `[min_delay, max_delay]`. The names come from
// "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). Proportional
// jitter is the rule of gRPC (p = 0.2) and of many Go libraries (p = 0.5). An
// immutable value.
class Jitter {
 public:
  // Base of the interval from which a delay is drawn: the ceiling or previous
  // delay.
  enum class Kind : uint8_t { kWindow, kDecorrelated };

  // Shares must be within [0, 1]; `Validate` below rejects all others.
  static constexpr Jitter None() { return {Kind::kWindow, 0, 0}; }
  static constexpr Jitter Full(double share = 1.0) {
    return {Kind::kWindow, share, 0};
  }
  static constexpr Jitter Equal() { return Full(0.5); }
  static constexpr Jitter Proportional(double share) {
    return {Kind::kWindow, share, share};
  }
  // `low` must be within [0, 1], and `high` finite and at least `low`. Draws
  // are capped at `max_delay`, as all delays are. The Azure SDKs draw from
  // [0.8, 1.3].
  static constexpr Jitter Between(double low, double high) {
    return {Kind::kWindow, 1 - low, high - 1};
  }
  // The first delay uses `initial_delay` as its previous delay, as the
  // article's own simulator does. Ignores `multiplier`.
  static constexpr Jitter Decorrelated() { return {Kind::kDecorrelated, 0, 0}; }

  constexpr Kind kind() const { return kind_; }

  // The window around a ceiling `c` is `[(1 - below) c, (1 + above) c]`. Both
  // shares are zero for `kDecorrelated`.
  constexpr double below() const { return below_; }
  constexpr double above() const { return above_; }

  bool operator==(const Jitter&) const = default;

 private:
  constexpr Jitter(Kind kind, double below, double above)
      : below_(below), above_(above), kind_(kind) {}

  double below_;
  double above_;
  Kind kind_;
};

// The ceiling of the nth delay, n from 1, is
//
//   min(max_delay, initial_delay * multiplier^(n - 1))
//
// `Defaults` supplies the fields that are not set, so that each kind of backoff
// keeps its other defaults when one field is set. Kinds convert to each other.
template <typename Defaults>
struct BasicBackoff {
  // Ceiling of the first delay. Finite, zero or more.
  Duration initial_delay = Defaults::kInitialDelay;

  // Ceiling of every delay, jitter included. At least `initial_delay`. May be
  // infinite, which means no cap.
  Duration max_delay = Defaults::kMaxDelay;

  // Growth from one ceiling to the next. Finite, at least 1; 1 is constant.
  double multiplier = Defaults::kMultiplier;

  // Random share of each delay.
  Jitter jitter = Defaults::kJitter;

  // Minimum of every delay. Finite, between zero and `max_delay`. A delay
  // that would leave no more than this before the deadline is stretched to the
  // deadline, so that the last two polls are not closer than this. Unset: 10
  // ms, or `initial_delay` if that is shorter.
  OptionalDuration min_delay = Defaults::kMinDelay;

  bool operator==(const BasicBackoff&) const = default;

  template <typename Other>
  constexpr operator BasicBackoff<Other>() const {  // NOLINT
    return {.initial_delay = initial_delay,
            .max_delay = max_delay,
            .multiplier = multiplier,
            .jitter = jitter,
            .min_delay = min_delay};
  }
};

// Ceilings are 100 ms, 200 ms, 400 ms ..., and 8 s from the eighth delay on.
// docs/policy.md compares the defaults with other choices.
struct BackoffDefaults {
  static constexpr absl::Duration kInitialDelay = absl::Milliseconds(100);
  static constexpr absl::Duration kMaxDelay = absl::Seconds(8);
  static constexpr double kMultiplier = 2.0;
  // Equal jitter spreads a fleet within seconds. Compared with full jitter
  // under a longer cap, it makes fewer polls and notices success sooner.
  static constexpr Jitter kJitter = Jitter::Equal();
  static constexpr OptionalDuration kMinDelay = std::nullopt;
};
using BackoffOptions = BasicBackoff<BackoffDefaults>;

// Returns `options.min_delay`, or its default if it is unset.
absl::Duration MinDelay(const BackoffOptions& options);

// Returns OK, or kInvalidArgument with the field, its value and its range. In
// the message, `name` precedes the name of the field: "backoff.multiplier".
absl::Status Validate(const BackoffOptions& options, std::string_view name);

// A random generator with 8 bytes of state, for jitter. Not for secrets: the
// state follows from a single output.
//
//   waiter::SplitMix64 gen(42);
//   uint64_t bits = gen();
//
// It works with the distributions of Abseil and of the standard library, and as
// an `absl::BitGenRef`:
//
//   double share = absl::Uniform(gen, 0.0, 1.0);
//   wait.Wait({.gen = gen});  // The same delays in each run of a test.
//
// It passes the test suite BigCrush and costs about 1 ns per draw.
// `absl::InsecureBitGen` has twice the state and takes about 70 ns to seed,
// which would dominate a wait that retries once. Algorithm: Steele, Lea, Flood,
// "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014), as in
// java.util.SplittableRandom.
//
// A `std::uniform_random_bit_generator` with a period of 2^64. Copies draw the
// same numbers. Thread-compatible.
class SplitMix64 {
 public:
  using result_type = uint64_t;

  // Every seed is as good as any other, zero included.
  explicit constexpr SplitMix64(uint64_t seed) : state_(seed) {}

  static constexpr result_type(min)() { return 0; }
  static constexpr result_type(max)() {
    return (std::numeric_limits<result_type>::max)();
  }

  // Returns 64 random bits.
  constexpr result_type operator()() {
    uint64_t bits = (state_ += 0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

 private:
  uint64_t state_;
};

// Returns a generator that is seeded differently at each call. The first call
// on a thread takes a seed from the entropy of the operating system; each later
// one costs about 2 ns. Thread-safe.
SplitMix64 MakeSeededSplitMix64();

// Returns a delay that is uniform on `[low, high]`, both ends included, from
// one draw of `gen`. If `low` is not below `high`, returns `low` without a
// draw. Multiplies instead of dividing (Lemire, "Fast Random Integer Generation
// in an Interval", 2019) and draws only once; the bias is below (high - low) /
// 2^64.
template <typename Gen>
std::chrono::nanoseconds UniformDelay(std::chrono::nanoseconds low,
                                      std::chrono::nanoseconds high, Gen& gen) {
  if (low >= high) return low;
  uint64_t bits;
  if constexpr ((Gen::min)() == 0 &&
                (Gen::max)() == (std::numeric_limits<uint64_t>::max)()) {
    bits = gen();
  } else {
    bits = absl::BitGenRef(gen)();
  }
  // The high half of the product is uniform on [0, high - low].
  const absl::uint128 product =
      absl::uint128(bits) * (static_cast<uint64_t>((high - low).count()) + 1);
  return low + std::chrono::nanoseconds(absl::Uint128High64(product));
}

// Position of one wait in one `Backoff`; do not use it with another `Backoff`.
// A value of 8 bytes; assign `{}` to start over. Thread-compatible.
class BackoffProgress {
 public:
  // For saving a wait: converts to a number, zero or more, and back.
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

// Computes delays. Has no clock or generator and never sleeps: equal inputs
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
// Only the ceilings, for a table or a plot:
//
//   for (int64_t n = 1; n <= 10; ++n) Print(backoff.Ceiling(n));
//
// Ceilings (see `BasicBackoff`) are computed and capped in floating point
// before they become whole nanoseconds, so that no n overflows.
//
// Immutable, so safe to share between threads. About 700 bytes, because the
// windows up to the cap, at most 40, are computed in advance; the next delay
// then costs about 2 ns with `SplitMix64`.
class Backoff {
 public:
  // Requires `Validate(options, "").ok()`.
  explicit Backoff(const BackoffOptions& options);

  // Returns the ceiling of the `n`th delay, counted from 1, for every `n` up to
  // 2^63 - 1. It is finite, at least zero, and exact to the nanosecond up to
  // 104 days, as far as a double is. An infinite `max_delay` counts as 2^62 ns,
  // 146 years.
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

  // Moves `progress` forward, never back, to the position of a wait that has
  // followed the ceilings, without jitter, for `elapsed`.
  void AdvanceTo(std::chrono::nanoseconds elapsed,
                 BackoffProgress& progress) const {
    if (progress.value_ < constant_from_) {
      progress.value_ = (std::max)(progress.value_, PositionAfter(elapsed));
    }
  }

  std::chrono::nanoseconds min_delay() const { return min_delay_; }

 private:
  // The ends of the interval on which a delay is uniform, before it is clamped.
  struct Window {
    std::chrono::nanoseconds low;
    std::chrono::nanoseconds high;
  };

  // With a multiplier of 2, the table grows to the cap or to 2^39 times the
  // first ceiling.
  static constexpr int64_t kMaxTableSize = 40;

  template <typename Gen>
  std::chrono::nanoseconds Draw(const Window& window, Gen& gen) const {
    return std::clamp(UniformDelay(window.low, window.high, gen), min_delay_,
                      max_delay_);
  }

  // Returns the window of the next delay, and advances `progress`.
  Window NextWindow(BackoffProgress& progress) const {
    const int64_t n = (std::min)(++progress.value_, constant_from_);
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
  // Ordinal of the window that replaces all later ones, if there is one.
  int64_t constant_from_ = (std::numeric_limits<int64_t>::max)();
  int64_t table_size_ = 0;
  // The first `table_size_` windows; the others are not initialized.
  std::array<Window, kMaxTableSize> table_;
};

}  // namespace waiter

#endif  // WAITER_BACKOFF_H_
