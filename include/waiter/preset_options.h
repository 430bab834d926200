// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The parameters of the presets of presets.h, with the defaults of the systems
// they come from. What is out of range makes the wait's options invalid.

#ifndef WAITER_PRESET_OPTIONS_H_
#define WAITER_PRESET_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace waiter {

// client.DefaultRetryer of the AWS SDK for Go v1, field by field. There a field
// of zero means its default, and so it does here, but for `max_retries`.
struct GoV1RetryOptions {
  int64_t max_retries = 3;  // NumMaxRetries; polls that follow the first.
  absl::Duration min_delay = absl::Milliseconds(30);
  absl::Duration min_throttled_delay = absl::Milliseconds(500);
  absl::Duration max_delay = absl::Minutes(5);
  absl::Duration max_throttled_delay = absl::Minutes(5);
};

// StandardRetryStrategy of the AWS SDK for Kotlin and its delay provider.
struct KotlinRetryOptions {
  int64_t max_attempts = 3;  // The first included.
  absl::Duration initial_delay = absl::Milliseconds(10);
  double scale_factor = 1.5;
  double jitter = 1.0;  // A delay is uniform on [(1 - jitter) c, c].
  absl::Duration max_backoff = absl::Seconds(20);
};

// The standard mode that the AWS SDKs share since 2026 («retry 2.1»).
struct AwsRetryOptions {
  int64_t max_attempts = 3;  // The first included.
  absl::Duration initial_delay = absl::Milliseconds(50);
  absl::Duration throttled_initial_delay = absl::Seconds(1);
  double scale_factor = 2.0;
  double jitter = 1.0;  // A delay is uniform on [(1 - jitter) c, c].
  absl::Duration max_backoff = absl::Seconds(20);

  // How far a server's hint may lift a delay, above `max_backoff` too.
  absl::Duration retry_after_max_overshoot = absl::Seconds(5);
};

// A retryPolicy of gRPC's service config; the defaults are the example of its
// proposal A6, as gRPC itself has none.
struct GrpcRetryOptions {
  int64_t max_attempts = 4;  // The first included; above 5 counts as 5.
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(1);
  double backoff_multiplier = 2.0;
};

}  // namespace waiter

#endif  // WAITER_PRESET_OPTIONS_H_
