// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parameters of the presets in presets.h, with the defaults of the systems that
// they come from:
//
//   waiter::WaitOptions options = waiter::AwsStandard2026(
//       {.max_attempts = 5, .initial_delay = absl::Milliseconds(100)});
//   options.timeout = absl::Minutes(1);
//
// A parameter out of range makes the options of the wait invalid: the wait then
// ends with kInvalidArgument before its first poll. In the ranges below, `c` is
// the ceiling of a delay: min(max, initial * scale^(attempt - 1)).

#ifndef WAITER_PRESET_OPTIONS_H_
#define WAITER_PRESET_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

// Parameters of `GoV1RetryRules()`: client.DefaultRetryer of the AWS SDK for Go
// v1, field by field. As in the original, a delay of zero means its default.
struct GoV1RetryOptions {
  // Number of polls that follow the first one (NumMaxRetries). Zero or more.
  // Unlike in the original, zero means zero.
  int64_t max_retries = 3;

  // Lower ends of the first delay (MinRetryDelay, MinThrottleDelay). A delay is
  // drawn from [d, 2 d), where d doubles with each retry.
  absl::Duration min_delay = absl::Milliseconds(30);
  absl::Duration min_throttled_delay = absl::Milliseconds(500);

  // Caps (MaxRetryDelay, MaxThrottleDelay). A delay that would be longer is
  // drawn from [max / 2, max) instead.
  absl::Duration max_delay = absl::Minutes(5);
  absl::Duration max_throttled_delay = absl::Minutes(5);
};

// Parameters of `KotlinStandard()` and `KotlinAdaptive()`: those of
// StandardRetryStrategy of the AWS SDK for Kotlin and of its delay provider.
struct KotlinRetryOptions {
  // Number of polls, the first included. At least 1.
  int64_t max_attempts = 3;

  // Ceiling of the first delay. Zero or more.
  absl::Duration initial_delay = absl::Milliseconds(10);

  // Growth from one ceiling to the next. At least 1.
  double scale_factor = 1.5;

  // A delay is uniform on [(1 - jitter) c, c]. Within [0, 1].
  double jitter = 1.0;

  // Ceiling of every delay. At least `initial_delay`.
  absl::Duration max_backoff = absl::Seconds(20);
};

// Parameters of `AwsStandard2026()` and `AwsAdaptive2026()`: those of the modes
// that the AWS SDKs share since 2026 ("retry 2.1").
struct AwsRetryOptions {
  // Number of polls, the first included. At least 1.
  int64_t max_attempts = 3;

  // Ceilings of the delay after a first poll that was not throttled, and after
  // one that was. Zero or more. Growth counts all polls, so that a poll that is
  // throttled later starts higher on its curve.
  absl::Duration initial_delay = absl::Milliseconds(50);
  absl::Duration throttled_initial_delay = absl::Seconds(1);

  // Growth from one ceiling to the next. At least 1.
  double scale_factor = 2.0;

  // A delay is uniform on [(1 - jitter) c, c]. Within [0, 1].
  double jitter = 1.0;

  // Ceiling of every delay. At least `initial_delay`.
  absl::Duration max_backoff = absl::Seconds(20);

  // Longest time by which a server's hint may lift a delay, even above
  // `max_backoff`. Finite, zero or more.
  absl::Duration retry_after_max_overshoot = absl::Seconds(5);
};

// Parameters of `GrpcRetry()`: a retryPolicy of gRPC's service config. The
// defaults are the example of its proposal A6; gRPC itself has none.
struct GrpcRetryOptions {
  // Number of polls, the first included. At least 1; more than 5 count as 5.
  int64_t max_attempts = 4;

  // Ceiling of the first delay. Zero or more.
  absl::Duration initial_backoff = absl::Milliseconds(100);

  // Ceiling of every delay. At least `initial_backoff`. Jitter of 20 % is added
  // on top of it.
  absl::Duration max_backoff = absl::Seconds(1);

  // Growth from one ceiling to the next. At least 1.
  double backoff_multiplier = 2.0;
};

}  // namespace waiter

#endif  // WAITER_PRESET_OPTIONS_H_
