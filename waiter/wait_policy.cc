// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/wait_policy.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff_options.h"
#include "waiter/clock.h"
#include "waiter/options.h"

namespace waiter {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Two of these can be added, and to any time, without overflow.
std::chrono::nanoseconds Summable(absl::Duration delay) {
  return std::min(absl::ToChronoNanoseconds(delay),
                  std::chrono::nanoseconds(kNoLimit / 4));
}

}  // namespace

std::shared_ptr<const WaitPolicy> WaitPolicy::Make(WaitOptions options,
                                                   absl::Status precondition) {
  if (precondition.ok()) precondition = Validate(options);
  return absl::WrapUnique(
      new WaitPolicy(std::move(options), std::move(precondition)));
}

WaitPolicy::WaitPolicy(WaitOptions options, absl::Status status)
    : options_(std::move(options)),
      status_(std::move(status)),
      clock_(options_.clock != nullptr ? *options_.clock : GetRealClock()),
      has_deadline_(options_.timeout.value_or(absl::InfiniteDuration()) <
                        absl::InfiniteDuration() ||
                    options_.deadline.value_or(absl::InfiniteFuture()) <
                        absl::InfiniteFuture()),
      needs_exact_times_(options_.observer != nullptr ||
                         options_.history_limit > 0 ||
                         options_.successes_required > 1 ||
                         options_.hold_for > absl::ZeroDuration()),
      limits_{.attempts = options_.max_attempts.value_or(kNoLimit),
              .consecutive_server_errors =
                  options_.max_consecutive_server_errors.value_or(kNoLimit),
              .consecutive_throttles =
                  options_.max_consecutive_throttles.value_or(kNoLimit)},
      durations_{
          .timeout = absl::ToChronoNanoseconds(
              options_.timeout.value_or(absl::InfiniteDuration())),
          .first_poll_delay = Summable(options_.first_poll_delay),
          .hold_for = Summable(options_.hold_for),
          .final_poll_lead = Summable(options_.final_poll_lead),
          .max_server_error_time =
              absl::ToChronoNanoseconds(options_.max_server_error_time),
          .max_retry_after = Summable(options_.retry_after.max_retry_after),
          .retry_after_overshoot = Summable(options_.retry_after.overshoot)},
      not_ready_(status_.ok() ? options_.backoff : BackoffOptions()),
      server_error_(status_.ok() ? options_.server_error : BackoffOptions()),
      throttled_(status_.ok() ? options_.throttled : BackoffOptions()) {}

MonotonicTime WaitPolicy::DeadlineFrom(MonotonicTime start) const {
  const MonotonicTime by_timeout = SaturatingAdd(
      start, std::max(durations_.timeout, std::chrono::nanoseconds::zero()));
  if (!options_.deadline.has_value()) return by_timeout;
  const absl::Duration remaining =
      std::max(*options_.deadline - clock_.TimeNow(), absl::ZeroDuration());
  return std::min(by_timeout,
                  SaturatingAdd(start, absl::ToChronoNanoseconds(remaining)));
}

}  // namespace waiter
