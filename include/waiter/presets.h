// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Well-known retry policies by name:
//
//   waiter::WaitOptions options = waiter::AwsStandard2026();
//   options.timeout = absl::Minutes(5);
//   waiter::Waiter wait(GetStatus, options);
//
// No preset sets `timeout`; set it, or the wait ends with kInvalidArgument. The
// originals limit the attempts, not the time, except for Smithy, whose callers
// must set a time limit.
//
// Pass parameters as arguments; their defaults come from the original systems:
//
//   waiter::WaitOptions options = waiter::AwsStandard2026(
//       {.max_attempts = 5, .initial_delay = absl::Milliseconds(100)});
//
// Most presets have a delay rule that copies its parameters, so changing a
// backoff in the options later has no effect. All other options may be changed.
// docs/design.md shows the presets side by side, and policy.h computes their
// delays. All functions here are thread-safe.
//
// All presets differ from their originals in five ways:
//
// * Delays have nanosecond resolution, cannot overflow and are at most 73
//   years.
// * A sleep that would pass the deadline ends there, and one last poll follows.
// * A `retry_after` of zero or infinity is ignored, as is a negative one except
//   with gRPC.
// * Exceptions of the status function pass through.
// * A wait that has used up its attempts or its quota ends with a status that
//   says so, and `WaitReport::last_error` has the error of the service.

#ifndef WAITER_PRESETS_H_
#define WAITER_PRESETS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/version.h"

namespace waiter {

// A parameter out of range makes the options of the wait invalid: the wait then
// ends with kInvalidArgument before its first poll. In the ranges below, `c` is
// the ceiling of a delay: min(max, initial * scale^(attempt - 1)).

// Parameters of `GoV1RetryRules()`: client.DefaultRetryer of the AWS SDK for Go
// v1, field by field. As in the original, a delay of zero means its default.
struct GoV1RetryOptions {
  // Number of polls that follow the first one (NumMaxRetries). Zero or more.
  // Unlike in the original, zero means zero.
  int64_t max_retries = 3;

  // Lower ends of the first delay (MinRetryDelay, MinThrottleDelay). A delay is
  // drawn from [d, 2 d), where d doubles with each retry.
  Duration min_delay = absl::Milliseconds(30);
  Duration min_throttled_delay = absl::Milliseconds(500);

  // Caps (MaxRetryDelay, MaxThrottleDelay). A delay that would be longer is
  // drawn from [max / 2, max) instead.
  Duration max_delay = absl::Minutes(5);
  Duration max_throttled_delay = absl::Minutes(5);
};

// Parameters of `KotlinStandard()` and `KotlinAdaptive()`: from
// StandardRetryStrategy of the AWS SDK for Kotlin and its delay provider.
struct KotlinRetryOptions {
  // Number of polls, the first included. At least 1.
  int64_t max_attempts = 3;

  // Ceiling of the first delay. Zero or more.
  Duration initial_delay = absl::Milliseconds(10);

  // Growth from one ceiling to the next. At least 1.
  double scale_factor = 1.5;

  // A delay is uniform on [(1 - jitter) c, c]. Within [0, 1].
  double jitter = 1.0;

  // Ceiling of every delay. At least `initial_delay`.
  Duration max_backoff = absl::Seconds(20);
};

// Parameters of `AwsStandard2026()` and `AwsAdaptive2026()`: from the modes
// that the AWS SDKs have shared since 2026 ("retry 2.1").
struct AwsRetryOptions {
  // Number of polls, the first included. At least 1.
  int64_t max_attempts = 3;

  // Ceilings of the delay after a first poll that was not throttled, and after
  // one that was. Zero or more. Growth counts all polls, so a poll that is
  // throttled later has a higher ceiling.
  Duration initial_delay = absl::Milliseconds(50);
  Duration throttled_initial_delay = absl::Seconds(1);

  // Growth from one ceiling to the next. At least 1.
  double scale_factor = 2.0;

  // A delay is uniform on [(1 - jitter) c, c]. Within [0, 1].
  double jitter = 1.0;

  // Ceiling of every delay. At least `initial_delay`.
  Duration max_backoff = absl::Seconds(20);

  // Longest time by which a server's `retry_after` may lift a delay, even above
  // `max_backoff`. Finite, zero or more.
  Duration retry_after_max_overshoot = absl::Seconds(5);
};

// Parameters of `GrpcRetry()`: a retryPolicy of gRPC's service config. The
// defaults come from proposal A6's example; gRPC itself has none.
struct GrpcRetryOptions {
  // Number of polls, the first included. At least 1; more than 5 count as 5.
  int64_t max_attempts = 4;

  // Ceiling of the first delay. Zero or more.
  Duration initial_backoff = absl::Milliseconds(100);

  // Ceiling of every delay. At least `initial_backoff`. Jitter may exceed it by
  // 20%.
  Duration max_backoff = absl::Seconds(1);

  // Growth from one ceiling to the next. At least 1.
  double backoff_multiplier = 2.0;
};

// The next three policies have an incremental delay, as "Error retries and
// exponential backoff" in the AWS General Reference describes it. After the nth
// poll they delay 2^n * 100 ms, at most `max_wait_interval`, regardless of the
// answer. They have no jitter and ignore `retry_after`.

// Returns the policy of the pseudo-code. It delays 100 ms before the first
// poll, makes `max_retries` polls (at least one), and ends at the first server
// error.
WaitOptions AwsPollingPseudoCode(
    int64_t max_retries, Duration max_wait_interval = absl::InfiniteDuration());

// Returns the policy of the Java program of the Chinese edition. It also
// retries server errors, and makes one more poll. Unlike the original, it does
// not swallow exceptions.
WaitOptions AwsPollingJava(int64_t max_retries, Duration max_wait_interval);

// Returns the policy of the Java program of the Japanese edition, which is the
// same without the delay before the first poll. Unlike the original, it does
// not continue after an exception.
WaitOptions AwsPollingJavaPollingFirst(int64_t max_retries,
                                       Duration max_wait_interval);

// Returns the policy of `DefaultRetryer.RetryRules` of the AWS SDK for Go v1
// (aws/client, at its last release), as one delay function. The nth delay, n
// from 1, is 2^(n-1) times a draw from [min, 2 min), or a draw from [max / 2,
// max) if that would be above max or overflow. Throttled polls have separate
// bounds and add their `retry_after`, uncapped.
//
// In the original, 429, 502, 503 and 504 count as throttled, and Retry-After is
// read with 429 and 503 only. Here the status function decides;
// `ErrorClassifier::AwsGoV1()` classifies as the original does. A negative
// Retry-After shortens the delay of the original; this policy ignores it.
WaitOptions GoV1RetryRules(const GoV1RetryOptions& options = {});

// Return the parameters that the same SDK sets for DynamoDB, and for two
// operations of EC2: ModifyNetworkInterfaceAttribute and
// AssignPrivateIpAddresses.
GoV1RetryOptions GoV1DynamoDb();
GoV1RetryOptions GoV1Ec2NetworkInterfaces();

// Returns the policy of `StandardRetryStrategy` of the AWS SDK for Kotlin as
// its guide described it before 2026. Delays grow with the attempt, regardless
// of the answer; a throttled poll is not delayed longer, and `retry_after` is
// ignored. `retry_quota` is a new bucket with the costs of `KotlinRetryQuota`.
//
// Unlike in the original, delays are not truncated to milliseconds, a poll
// after "not ready" costs nothing, and among transient errors only
// kDeadlineExceeded costs as much as a timeout.
WaitOptions KotlinStandard(const KotlinRetryOptions& options = {});

// Returns the policy of `AdaptiveRetryStrategy`: the same with a new
// `rate_limiter`.
WaitOptions KotlinAdaptive(const KotlinRetryOptions& options = {});

// Returns the parameters of that SDK's bucket before 2026, including the
// peculiarities of its refill (budgets.h), for `RetryQuota::Make`.
RetryQuotaOptions KotlinRetryQuota();

// Returns the policy of the standard mode of the AWS SDKs since 2026. Delays
// grow with the attempt, from a higher start if the poll was throttled.
// `retry_after` (x-amz-retry-after) is clamped to [t, t + 5 s], where t is the
// delay that was drawn. `retry_quota` is a new bucket; all waits with a copy of
// these options share it, so make the options once for each server.
//
// Unlike in the original, a poll after "not ready" costs nothing. For long
// polling, set `budgets.delay_when_refused`.
WaitOptions AwsStandard2026(const AwsRetryOptions& options = {});

// Returns the policy of the adaptive mode: the same with a new `rate_limiter`.
WaitOptions AwsAdaptive2026(const AwsRetryOptions& options = {});

// Returns the parameters that the clients of DynamoDB and DynamoDB Streams use
// with both modes.
AwsRetryOptions AwsDynamoDb2026();

// Returns the policy of the waiters of the Smithy specification. Delays are
// uniform on [min_delay, min(max_delay, min_delay * 2^(n-1))]; a delay that
// would leave no more than `min_delay` is stretched to the deadline.
// `min_delay` must be above zero. Unlike in the original, delays are not
// truncated to seconds.
//
// smithy-go makes its last poll `min_delay` before the deadline instead; set
// `polls.last_lead` to `min_delay` for that. If the whole wait is shorter than
// `min_delay`, smithy-go polls once, and this policy polls a second time at the
// deadline.
WaitOptions SmithyWaiter(Duration min_delay = absl::Seconds(2),
                         Duration max_delay = absl::Minutes(2));

// Returns the retryPolicy of gRPC (proposal A6). Delays are within 20% of
// min(max_backoff, initial_backoff * multiplier^(n-1)), even above
// `max_backoff`. `retry_after` (grpc-retry-pushback-ms) replaces a delay and
// restarts the growth; a negative one ends the wait. Delays grow as in gRPC if
// the status function answers all retryable codes with the same status. Omits
// retryThrottling.
WaitOptions GrpcRetry(const GrpcRetryOptions& options = {});

}  // namespace waiter

#endif  // WAITER_PRESETS_H_
