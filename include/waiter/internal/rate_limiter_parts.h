// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of `AdaptiveRateLimiter` (budgets.h), without clock and
// lock. budgets.h has the formulas. Times are in seconds since the
// first call of the limiter, rates in polls per second.

#ifndef WAITER_INTERNAL_RATE_LIMITER_PARTS_H_
#define WAITER_INTERNAL_RATE_LIMITER_PARTS_H_

#include <cstdint>

namespace waiter {
struct RateLimiterOptions;
}  // namespace waiter

namespace waiter::internal {

// Measures the rate of finished polls. Thread-compatible.
class RateMeter {
 public:
  // Starts from `rate`, as if that had been measured so far.
  explicit RateMeter(const RateLimiterOptions& options, double rate = 0);

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

// The cubic backoff of the allowed rate. Thread-compatible.
class CubicRate {
 public:
  explicit CubicRate(const RateLimiterOptions& options);

  // Returns the allowed rate after the server throttled `rate` at `time`.
  double Throttle(double rate, double time);

  // Returns the rate of the backoff at `time`.
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

  // Takes `cost` and returns zero, or takes nothing and returns the time until
  // there is as much, at least 1 ns. Requires that `cost` is at most
  // `max_capacity()`.
  double Acquire(double cost, double time);

  // Sets the rate of refill from `time` on, and the capacity to one second's
  // worth of it; both have the lower limits of the options.
  void SetRate(double rate, double time);

  double fill_rate() const { return fill_rate_; }
  double capacity() const { return capacity_; }
  double max_capacity() const { return max_capacity_; }

 private:
  void Refill(double time);

  // Members that `Acquire` uses come first, to be near the lock of a limiter.
  double capacity_ = 0;
  double last_refill_ = -1;  // Negative before the first refill.
  double fill_rate_ = 0;
  double max_capacity_ = 0;
  double min_fill_rate_;
  double min_capacity_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_RATE_LIMITER_PARTS_H_
