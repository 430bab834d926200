// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/presets.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

using std::chrono::nanoseconds;

// Returns the number of polls that `retries` retries make.
int64_t PollsFor(int64_t retries) {
  return retries + (retries < std::numeric_limits<int64_t>::max() ? 1 : 0);
}

// Returns the server's `retry_after`, or zero if none.
absl::Duration RetryAfterOf(const Poll<>& found) {
  const absl::Duration retry_after = found.retry_after();
  return retry_after < absl::InfiniteDuration()
             ? std::max(retry_after, absl::ZeroDuration())
             : absl::ZeroDuration();
}

absl::Duration Uniform(absl::Duration low, absl::Duration high,
                       absl::BitGenRef gen) {
  return absl::FromChrono(UniformDelay(absl::ToChronoNanoseconds(low),
                                       absl::ToChronoNanoseconds(high), gen));
}

// Returns min(max_delay, initial_delay * multiplier^(attempt - 1)).
absl::Duration Ceiling(const BackoffOptions& backoff, int64_t attempt) {
  // The power may be infinite, and zero times infinity is not a number.
  if (backoff.initial_delay == absl::ZeroDuration()) {
    return absl::ZeroDuration();
  }
  return std::min<absl::Duration>(
      backoff.initial_delay *
          std::pow(backoff.multiplier, static_cast<double>(attempt - 1)),
      backoff.max_delay);
}

// Returns options with the same backoff for every status. A delay source brings
// its own parameters; the backoff's parameters then serve `Validate` and the
// delays between polls that confirm a success. A backoff without `min_delay`
// has none, as in the originals.
WaitOptions WithBackoff(BackoffOptions backoff) {
  if (!backoff.min_delay.has_value()) backoff.min_delay = absl::ZeroDuration();
  WaitOptions options;
  options.backoff = backoff;
  options.errors.server_error_backoff = backoff;
  options.errors.throttled_backoff = backoff;
  return options;
}

constexpr absl::Duration kAwsPollingUnit = absl::Milliseconds(100);

WaitOptions AwsPolling(absl::Duration max_wait_interval, int64_t max_attempts) {
  WaitOptions options = WithBackoff(
      {.initial_delay = std::min(kAwsPollingUnit, max_wait_interval),
       .max_delay = max_wait_interval,
       .jitter = Jitter::None()});
  options.max_attempts = std::max<int64_t>(1, max_attempts);
  options.delay_source = [max_wait_interval](const DelayRequest& request,
                                             absl::BitGenRef) {
    // The Java programs overflow from the 57th delay on. Here the growth ends
    // at the 60th, which is three billion years.
    constexpr int64_t kLastDoubling = 60;
    return std::min(kAwsPollingUnit * (int64_t{1} << std::min(request.attempt,
                                                              kLastDoubling)),
                    max_wait_interval);
  };
  return options;
}

// Returns the delay function of the AWS SDKs, which counts attempts of any
// status.
DelayFunction SdkDelays(const BackoffOptions& backoff,
                        const BackoffOptions& throttled,
                        absl::Duration overshoot) {
  return [backoff, throttled, overshoot](const DelayRequest& request,
                                         absl::BitGenRef gen) {
    const absl::Duration ceiling = Ceiling(
        request.found.status() == PollStatus::kThrottled ? throttled : backoff,
        request.attempt);
    const absl::Duration delay =
        Uniform(ceiling * (1 - backoff.jitter.below()), ceiling, gen);
    return std::clamp(RetryAfterOf(request.found), delay, delay + overshoot);
  };
}

WaitOptions WithLimiter(WaitOptions options) {
  options.budgets.rate_limiter = *AdaptiveRateLimiter::Make({});
  return options;
}

// Draws from [least, 2 least), as Go's `rand.Int63n(least) + least` does.
nanoseconds GoV1Jitter(nanoseconds least, absl::BitGenRef gen) {
  return UniformDelay(least, 2 * least - nanoseconds(1), gen);
}

nanoseconds GoV1Delay(nanoseconds min, nanoseconds max, int64_t retries,
                      absl::BitGenRef gen) {
  const auto bits =
      static_cast<int>(std::bit_width(static_cast<uint64_t>(min.count())));
  if (bits < 63 - retries) {  // Otherwise 2^retries * 2 min could overflow.
    const nanoseconds delay = GoV1Jitter(min, gen) * (int64_t{1} << retries);
    if (delay <= max) return delay;
  }
  return GoV1Jitter(max / 2, gen);
}

absl::Duration OrElse(absl::Duration value, absl::Duration if_zero) {
  return value == absl::ZeroDuration() ? if_zero : value;
}

}  // namespace

WaitOptions AwsPollingPseudoCode(int64_t max_retries,
                                 Duration max_wait_interval) {
  WaitOptions options = AwsPolling(max_wait_interval, max_retries);
  options.polls.first_delay = options.backoff.initial_delay;
  options.errors.max_consecutive_server_errors = 1;
  return options;
}

WaitOptions AwsPollingJava(int64_t max_retries, Duration max_wait_interval) {
  WaitOptions options =
      AwsPollingJavaPollingFirst(max_retries, max_wait_interval);
  options.polls.first_delay = options.backoff.initial_delay;
  return options;
}

WaitOptions AwsPollingJavaPollingFirst(int64_t max_retries,
                                       Duration max_wait_interval) {
  return AwsPolling(max_wait_interval, PollsFor(max_retries));
}

WaitOptions GoV1RetryRules(const GoV1RetryOptions& options) {
  struct Bounds {
    nanoseconds min;
    nanoseconds max;
  };
  const GoV1RetryOptions defaults;
  const auto backoff_of = [](absl::Duration min, absl::Duration max) {
    return BackoffOptions{.initial_delay = std::min(min, max),
                          .max_delay = max,
                          .jitter = Jitter::Equal(),
                          .min_delay = absl::ZeroDuration()};
  };
  const auto bounds_of = [](absl::Duration min, absl::Duration max) {
    return Bounds{absl::ToChronoNanoseconds(min),
                  absl::ToChronoNanoseconds(max)};
  };
  const absl::Duration min = OrElse(options.min_delay, defaults.min_delay);
  const absl::Duration max = OrElse(options.max_delay, defaults.max_delay);
  const absl::Duration throttled_min =
      OrElse(options.min_throttled_delay, defaults.min_throttled_delay);
  const absl::Duration throttled_max =
      OrElse(options.max_throttled_delay, defaults.max_throttled_delay);

  WaitOptions result = WithBackoff(backoff_of(min, max));
  result.errors.throttled_backoff = backoff_of(throttled_min, throttled_max);
  result.max_attempts = PollsFor(options.max_retries);
  result.delay_source = [other = bounds_of(min, max),
                         throttled = bounds_of(throttled_min, throttled_max)](
                            const DelayRequest& request, absl::BitGenRef gen) {
    const bool is_throttled = request.found.status() == PollStatus::kThrottled;
    const Bounds& bounds = is_throttled ? throttled : other;
    const absl::Duration delay = absl::FromChrono(
        GoV1Delay(bounds.min, bounds.max, request.attempt - 1, gen));
    return is_throttled ? delay + RetryAfterOf(request.found) : delay;
  };
  return result;
}

GoV1RetryOptions GoV1DynamoDb() {
  return {.max_retries = 10, .min_delay = absl::Milliseconds(50)};
}

GoV1RetryOptions GoV1Ec2NetworkInterfaces() {
  return {.min_delay = absl::Seconds(1),
          .min_throttled_delay = absl::Seconds(1),
          .max_delay = absl::Seconds(8),
          .max_throttled_delay = absl::Seconds(8)};
}

WaitOptions KotlinStandard(const KotlinRetryOptions& options) {
  const BackoffOptions backoff = {.initial_delay = options.initial_delay,
                                  .max_delay = options.max_backoff,
                                  .multiplier = options.scale_factor,
                                  .jitter = Jitter::Full(options.jitter)};
  WaitOptions result = WithBackoff(backoff);
  result.max_attempts = options.max_attempts;
  result.delay_source =
      SdkDelays(backoff, backoff, /*overshoot=*/absl::ZeroDuration());
  result.budgets.retry_quota = *RetryQuota::Make(KotlinRetryQuota());
  return result;
}

WaitOptions KotlinAdaptive(const KotlinRetryOptions& options) {
  return WithLimiter(KotlinStandard(options));
}

RetryQuotaOptions KotlinRetryQuota() {
  return {.retry_cost = 5,
          .timeout_cost = 10,
          .throttle_cost = 10,
          .compatible = true};
}

WaitOptions AwsStandard2026(const AwsRetryOptions& options) {
  const BackoffOptions backoff = {.initial_delay = options.initial_delay,
                                  .max_delay = options.max_backoff,
                                  .multiplier = options.scale_factor,
                                  .jitter = Jitter::Full(options.jitter)};
  BackoffOptions throttled = backoff;
  throttled.initial_delay = options.throttled_initial_delay;

  WaitOptions result = WithBackoff(backoff);
  result.errors.throttled_backoff.initial_delay =
      std::min(options.throttled_initial_delay, options.max_backoff);
  result.errors.retry_after = {.rule = RetryAfterOptions::Rule::kClamp,
                               .overshoot = options.retry_after_max_overshoot};
  result.max_attempts = options.max_attempts;
  result.delay_source =
      SdkDelays(backoff, throttled, options.retry_after_max_overshoot);
  result.budgets.retry_quota = *RetryQuota::Make({});
  return result;
}

WaitOptions AwsAdaptive2026(const AwsRetryOptions& options) {
  return WithLimiter(AwsStandard2026(options));
}

AwsRetryOptions AwsDynamoDb2026() {
  return {.max_attempts = 4, .initial_delay = absl::Milliseconds(25)};
}

WaitOptions SmithyWaiter(Duration min_delay, Duration max_delay) {
  const BackoffOptions backoff = {
      // A backoff may start at zero. A Smithy waiter may not, so `Validate`
      // must reject it.
      .initial_delay = min_delay > absl::ZeroDuration()
                           ? min_delay
                           : -absl::InfiniteDuration(),
      .max_delay = max_delay,
      .jitter = Jitter::Full(),
      .min_delay = min_delay};
  WaitOptions options = WithBackoff(backoff);
  options.delay_source = [backoff, min_delay = absl::Duration(min_delay)](
                             const DelayRequest& request, absl::BitGenRef gen) {
    return Uniform(min_delay, Ceiling(backoff, request.attempt), gen);
  };
  return options;
}

WaitOptions GrpcRetry(const GrpcRetryOptions& options) {
  WaitOptions result = WithBackoff({.initial_delay = options.initial_backoff,
                                    .max_delay = options.max_backoff,
                                    .multiplier = options.backoff_multiplier,
                                    .jitter = Jitter::None()});
  result.max_attempts = std::min<int64_t>(options.max_attempts, 5);
  result.errors.retry_after = {.rule = RetryAfterOptions::Rule::kReplace,
                               .max_retry_after = absl::Milliseconds(
                                   std::numeric_limits<int32_t>::max())};
  // The built-in backoff gives the ceiling, and restarts after a `retry_after`.
  result.delay_source =
      [](const DelayRequest& request,
         absl::BitGenRef gen) -> std::optional<absl::Duration> {
    if (request.found.retry_after() < absl::ZeroDuration()) return std::nullopt;
    const absl::Duration delay = request.computed();
    if (RetryAfterOf(request.found) > absl::ZeroDuration()) return delay;
    return Uniform(0.8 * delay, 1.2 * delay, gen);
  };
  return result;
}

}  // namespace waiter
