// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The parameters of one curve of growing delays:
//
//   waiter::BackoffOptions backoff = {.initial_delay = absl::Seconds(1),
//                                     .max_delay = absl::Seconds(30),
//                                     .jitter = waiter::Jitter::Equal()};
//
// backoff.h has the formula and computes it.

#ifndef WAITER_BACKOFF_OPTIONS_H_
#define WAITER_BACKOFF_OPTIONS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waiter {

// How much of a delay is left to chance, so that waits that start together do
// not poll together. Under a ceiling `c` every delay, also the first and those
// at the cap, is uniform on
//
//   None()           c
//   Full(s)          [(1 - s) c, c]
//   Equal()          [c / 2, c]
//   Proportional(p)  [(1 - p) c, (1 + p) c]
//   Decorrelated()   [initial_delay, 3 * the delay before]
//
// and then clamped to `[min_delay, max_delay]`. The names are those of
// "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015); proportional
// is the rule of gRPC (p = 0.2) and of many Go libraries (p = 0.5).
class Jitter {
 public:
  enum class Kind : uint8_t { kWindow, kDecorrelated };

  // Shares are in [0, 1].
  static constexpr Jitter None() { return {Kind::kWindow, 0, 0}; }
  static constexpr Jitter Full(double share = 1.0) {
    return {Kind::kWindow, share, 0};
  }
  static constexpr Jitter Equal() { return Full(0.5); }
  static constexpr Jitter Proportional(double share) {
    return {Kind::kWindow, share, share};
  }
  // The delay before the first counts as `initial_delay`, as in the article's
  // own simulator. `multiplier` is not used.
  static constexpr Jitter Decorrelated() { return {Kind::kDecorrelated, 0, 0}; }

  constexpr Kind kind() const { return kind_; }

  // The window around a ceiling `c` is `[(1 - below) c, (1 + above) c]`.
  constexpr double below() const { return below_; }
  constexpr double above() const { return above_; }

 private:
  constexpr Jitter(Kind kind, double below, double above)
      : below_(below), above_(above), kind_(kind) {}

  double below_;
  double above_;
  Kind kind_;
};

struct BackoffOptions {
  // Ceiling of the first delay. Finite, zero or more.
  absl::Duration initial_delay = absl::Milliseconds(100);

  // Ceiling of every delay. At least `initial_delay`; may be infinite.
  absl::Duration max_delay = absl::Seconds(8);

  // Growth from one ceiling to the next. Finite, at least 1 (constant).
  double multiplier = 2.0;

  // Equal spreads a fleet within seconds, for fewer polls and shorter delays
  // after ready than full jitter under a longer cap (docs/policy.md).
  Jitter jitter = Jitter::Equal();

  // No delay on this curve is shorter. Between zero and `max_delay`. One that
  // would leave no more than this before the deadline is stretched to it.
  absl::Duration min_delay = absl::ZeroDuration();
};

// Returns OK, or kInvalidArgument with the field, its value and its range. The
// field is called `name` + "." + its own name.
absl::Status Validate(const BackoffOptions& options, std::string_view name);

}  // namespace waiter

#endif  // WAITER_BACKOFF_OPTIONS_H_
