// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parameters of one curve of growing, jittered delays:
//
//   waiter::BackoffOptions backoff = {.initial_delay = absl::Seconds(1),
//                                     .max_delay = absl::Seconds(30),
//                                     .jitter = waiter::Jitter::Equal()};
//
// A constant delay is a curve that does not grow:
//
//   waiter::BackoffOptions every_5s = {.initial_delay = absl::Seconds(5),
//                                      .max_delay = absl::Seconds(5),
//                                      .jitter = waiter::Jitter::None()};
//
// loop/backoff.h computes the delays, and schedule.h shows them in advance.

#ifndef WAITER_BACKOFF_OPTIONS_H_
#define WAITER_BACKOFF_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
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
//   Decorrelated()   [initial_delay, 3 * the delay before]
//
// and then clamped to `[min_delay, max_delay]`. The names come from
// "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). Proportional
// jitter is the rule of gRPC (p = 0.2) and of many Go libraries (p = 0.5). An
// immutable value.
class Jitter {
 public:
  // Base of the interval from which a delay is drawn: the ceiling, or the delay
  // before.
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
  // `low` must be within [0, 1], and `high` finite and at least `low`. The
  // range is cut at `max_delay`, as every delay is. The Azure SDKs draw from
  // [0.8, 1.3].
  static constexpr Jitter Between(double low, double high) {
    return {Kind::kWindow, 1 - low, high - 1};
  }
  // The first delay uses `initial_delay` as the delay before it, as the
  // article's own simulator does. Ignores `multiplier`.
  static constexpr Jitter Decorrelated() { return {Kind::kDecorrelated, 0, 0}; }

  constexpr Kind kind() const { return kind_; }

  // The window around a ceiling `c` is `[(1 - below) c, (1 + above) c]`. Both
  // are zero for `kDecorrelated`.
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
// With the defaults that is 100 ms, 200 ms, 400 ms, and so on up to 8 s from
// the eighth delay on. docs/policy.md compares the defaults with other choices.
struct BackoffOptions {
  // Ceiling of the first delay. Finite, zero or more.
  absl::Duration initial_delay = absl::Milliseconds(100);

  // Ceiling of every delay, jitter included. At least `initial_delay`. May be
  // infinite, which means no cap.
  absl::Duration max_delay = absl::Seconds(8);

  // Growth from one ceiling to the next. Finite, at least 1; 1 is constant.
  double multiplier = 2.0;

  // Equal jitter spreads a fleet within seconds. Compared with full jitter
  // under a longer cap, it makes fewer polls and notices success sooner.
  Jitter jitter = Jitter::Equal();

  // Shortest delay on this curve. Finite, between zero and `max_delay`. A delay
  // that would leave no more than this before the deadline is stretched to the
  // deadline, so that the last two polls are not closer than this. Unset: 10
  // ms, or `initial_delay` if that is shorter.
  std::optional<absl::Duration> min_delay = std::nullopt;

  bool operator==(const BackoffOptions&) const = default;
};

// Returns `options.min_delay`, or what applies if it is unset.
absl::Duration MinDelay(const BackoffOptions& options);

// Returns OK, or kInvalidArgument with the field, its value and its range. In
// the message, `name` precedes the name of the field: "backoff.multiplier".
absl::Status Validate(const BackoffOptions& options, std::string_view name);

}  // namespace waiter

#endif  // WAITER_BACKOFF_OPTIONS_H_
