// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The knobs of an `AdaptiveRateLimiter` (rate_limiter.h).
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

#ifndef WAITER_RATE_LIMITER_OPTIONS_H_
#define WAITER_RATE_LIMITER_OPTIONS_H_

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

}  // namespace waiter

#endif  // WAITER_RATE_LIMITER_OPTIONS_H_
