// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The parameters and the arithmetic of `AdaptiveRateLimiter` (rate_limiter.h).
//
// The rule is the adaptive retry mode of the AWS SDKs, which follows CUBIC (RFC
// 9438). With rates in polls per second and times in seconds,
//
//   throttled   w = the measured rate, at most the allowed one
//               allowed = beta * w
//   otherwise   allowed = scale_constant * (t - k)^3 + w
//
// where t is the time since the last throttled answer, k = cbrt(w * (1 - beta)
// / scale_constant) is when the allowed rate is back at w, and allowed is at
// most growth_limit times the measured rate.

#ifndef WAITER_RATE_LIMITER_PARTS_H_
#define WAITER_RATE_LIMITER_PARTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waiter {

// The defaults are those of all AWS SDKs. Everything is finite.
struct RateLimiterOptions {
  // Share of the rate that remains when throttled. Within (0, 1).
  double beta = 0.7;

  // Weight of the newest measurement against all before. Within (0, 1].
  double smoothing = 0.8;

  // How fast the rate comes back and grows. Above zero.
  double scale_constant = 0.4;

  // Polls per second that are always allowed. Above zero.
  double min_fill_rate = 0.5;

  // The capacity, which is what can pass at once after a pause, is a second's
  // worth, and at least this. At least 1, which is what a poll needs.
  double min_capacity = 1;

  // The time over which polls are counted to measure their rate. Above zero.
  absl::Duration measurement_bucket = absl::Milliseconds(500);

  // The allowed rate is at most this times the measured one. At least 1.
  double growth_limit = 2;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const RateLimiterOptions& options);

// The parts of a limiter, without clock and lock. Times are in seconds.
namespace rate_limiter_internal {

// Counts polls. Thread-compatible.
class RateMeter {
 public:
  explicit RateMeter(const RateLimiterOptions& options);

  // Counts a poll at `time` and returns the smoothed rate.
  double Measure(double time);

  double rate() const { return rate_; }

 private:
  double bucket_;
  double smoothing_;
  double bucket_start_ = 0;
  int64_t count_ = 0;
  double rate_ = 0;
};

// The curve. Thread-compatible.
class CubicRate {
 public:
  explicit CubicRate(const RateLimiterOptions& options);

  // Returns the rate to go on with, as `rate` was throttled at `time`.
  double Throttle(double rate, double time);

  // Returns the rate of the curve at `time`.
  double Grow(double time) const;

  double last_max_rate() const { return last_max_rate_; }
  double time_window() const { return time_window_; }

 private:
  double beta_;
  double scale_constant_;
  double last_max_rate_ = 0;
  double last_throttle_ = 0;
  double time_window_ = 0;
};

// The token bucket. Thread-compatible.
class RateBucket {
 public:
  explicit RateBucket(const RateLimiterOptions& options);

  // Takes `cost` and returns zero, or takes nothing and returns how long until
  // there will be as much: at least 1 ns. Requires that `cost` is at most
  // `max_capacity()`.
  double Acquire(double cost, double time);

  void SetRate(double rate, double time);

  double fill_rate() const { return fill_rate_; }
  double capacity() const { return capacity_; }
  double max_capacity() const { return max_capacity_; }

 private:
  void Refill(double time);

  // What `Acquire` needs comes first, to be near the lock of a limiter.
  double capacity_ = 0;
  double last_refill_ = -1;  // Below zero before the first.
  double fill_rate_ = 0;
  double max_capacity_ = 0;
  double min_fill_rate_;
  double min_capacity_;
};

}  // namespace rate_limiter_internal

}  // namespace waiter

#endif  // WAITER_RATE_LIMITER_PARTS_H_
