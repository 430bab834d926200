// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The retry policies that people know, by name:
//
//   waiter::WaitOptions options = waiter::AwsStandard2026();
//   options.timeout = absl::Minutes(5);
//   waiter::Waiter wait(ask, options);
//
// None sets `timeout`: the originals bound the attempts, not the time, but for
// Smithy, where the caller must bound it too. Parameters are arguments
// (preset_options.h): most presets have a delay rule that has taken them, so
// changing the curves of the options afterwards changes nothing; all else may
// be changed. docs/design.md shows the presets side by side.
//
// Where all of them differ from their originals: delays have nanoseconds, and
// cannot overflow; a sleep that would pass the deadline ends in one last poll
// there; hints of zero, infinity, and, but for gRPC, below zero are ignored;
// exceptions of the status function pass on.

#ifndef WAITER_PRESETS_H_
#define WAITER_PRESETS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "waiter/options.h"
#include "waiter/preset_options.h"
#include "waiter/retry_quota.h"

namespace waiter {

// Polling with an incremental delay, as «Error retries and exponential backoff»
// in the AWS General Reference has it: after the nth poll 2^n * 100 ms, at most
// `max_wait_interval`, whatever was found. No jitter, and hints are ignored.
//
// The pseudo-code. Delays 100 ms before the first poll, makes `max_retries`
// polls (at least one), and ends with the first server error.
WaitOptions AwsPollingPseudoCode(
    int64_t max_retries,
    absl::Duration max_wait_interval = absl::InfiniteDuration());

// The Java program of the Chinese edition: retries server errors too, and makes
// one poll more. Unlike it, does not swallow exceptions.
WaitOptions AwsPollingJava(int64_t max_retries,
                           absl::Duration max_wait_interval);

// The Java program of the Japanese edition: the same without the delay before
// the first poll. Unlike it, does not poll on after an exception.
WaitOptions AwsPollingJavaPollingFirst(int64_t max_retries,
                                       absl::Duration max_wait_interval);

// `DefaultRetryer.RetryRules` of the AWS SDK for Go v1 (aws/client, at its last
// release), as one delay rule. The nth delay, n from 1, is 2^(n-1) times a draw
// from [min, 2 min), or a draw from [max / 2, max) where that would be above
// max or overflow; throttled polls have bounds of their own and add their
// `retry_after`, uncapped.
//
// There, 429, 502, 503 and 504 count as throttled, and Retry-After is read with
// 429 and 503 alone: what to answer is the status function's choice. A negative
// Retry-After shortens the delay there, and is ignored here.
WaitOptions GoV1RetryRules(const GoV1RetryOptions& options = {});

// What its clients for DynamoDB set, and for two operations of EC2:
// ModifyNetworkInterfaceAttribute and AssignPrivateIpAddresses.
GoV1RetryOptions GoV1DynamoDb();
GoV1RetryOptions GoV1Ec2NetworkInterfaces();

// `StandardRetryStrategy` of the AWS SDK for Kotlin as its guide describes it,
// before 2026. Delays grow with the attempt, whatever was found; throttling has
// no longer ones, and hints are ignored. `retry_quota` is a new bucket with the
// costs of `KotlinRetryQuota`. Unlike there, delays are not cut to whole
// milliseconds; a poll that was not ready costs nothing; and of transient
// errors only those with kDeadlineExceeded cost what a timeout does.
WaitOptions KotlinStandard(const KotlinRetryOptions& options = {});

// `AdaptiveRetryStrategy`: the same with a new `rate_limiter`.
WaitOptions KotlinAdaptive(const KotlinRetryOptions& options = {});

// The bucket of that time, its quirks of refill included (retry_quota.h), for
// `RetryQuota::Make`.
RetryQuotaOptions KotlinRetryQuota();

// The standard mode of the AWS SDKs since 2026. Delays grow with the attempt,
// from another start if throttled; `retry_after`, there x-amz-retry-after, is
// honoured within [t, t + 5 s] around the delay t that was drawn. `retry_quota`
// is a new bucket; waits share it that share these options. Unlike there, a
// poll that was not ready costs nothing. For polls that the server holds open
// for long, set `delay_when_refused`.
WaitOptions AwsStandard2026(const AwsRetryOptions& options = {});

// The adaptive mode: the same with a new `rate_limiter`.
WaitOptions AwsAdaptive2026(const AwsRetryOptions& options = {});

// What the clients of DynamoDB and DynamoDB Streams use with both.
AwsRetryOptions AwsDynamoDb2026();

// The waiters of the Smithy specification: delays uniform on [min_delay,
// min(max_delay, min_delay * 2^(n-1))]; one that would leave no more than
// `min_delay` is stretched to the deadline. `min_delay` must be above zero.
// Unlike there, delays are not cut to whole seconds.
//
// smithy-go polls last `min_delay` before the deadline instead: set
// `final_poll_lead` to it. Where the whole wait is shorter than `min_delay`,
// smithy-go polls once, and this a second time at the deadline.
WaitOptions SmithyWaiter(absl::Duration min_delay = absl::Seconds(2),
                         absl::Duration max_delay = absl::Minutes(2));

// The retryPolicy of gRPC (proposal A6): delays within 20 % of min(max_backoff,
// initial_backoff * multiplier^(n-1)), also above `max_backoff`. `retry_after`,
// there grpc-retry-pushback-ms, replaces a delay and restarts the growth; below
// zero it ends the wait. Delays grow together as in gRPC if every retryable
// code is answered with the same status. Its retryThrottling is left out.
WaitOptions GrpcRetry(const GrpcRetryOptions& options = {});

}  // namespace waiter

#endif  // WAITER_PRESETS_H_
