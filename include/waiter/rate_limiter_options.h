// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of an `AdaptiveRateLimiter` (rate_limiter.h). The defaults suit most
// servers. For a server that recovers slowly:
//
//   auto limiter = waiter::AdaptiveRateLimiter::Make({.scale_constant = 0.1});
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
#include "waiter/version.h"

namespace waiter {

// A value. The defaults are those of all AWS SDKs. All numbers must be finite.
struct RateLimiterOptions {
  // Share of the rate that remains when the server throttles. Within (0, 1).
  double beta = 0.7;

  // Weight of the newest measurement against all earlier ones. Within (0, 1].
  double smoothing = 0.8;

  // Speed at which the rate recovers and grows. Above zero.
  double scale_constant = 0.4;

  // Polls per second that are always allowed. Above zero.
  double min_fill_rate = 0.5;

  // Lower limit of the capacity, the number of polls that may pass at once
  // after a pause. The capacity is otherwise one second's worth of the allowed
  // rate. At least 1, or no poll could pass.
  double min_capacity = 1;

  // Time over which polls are counted to measure their rate. Above zero.
  absl::Duration measurement_bucket = absl::Milliseconds(500);

  // Upper limit of the allowed rate, as a multiple of the measured one, which
  // keeps an idle client from earning an unlimited rate. At least 1.
  double growth_limit = 2;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const RateLimiterOptions& options);

}  // namespace waiter

#endif  // WAITER_RATE_LIMITER_OPTIONS_H_
