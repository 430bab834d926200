// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/policy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/result.h"

namespace waiter {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

bool IsZero(const BackoffOptions& backoff) {
  return backoff.initial_delay == absl::ZeroDuration() &&
         MinDelay(backoff) == absl::ZeroDuration();
}

// Returns, for each `PollStatus` in its order, whether the next poll follows
// without a delay.
std::array<bool, 5> PollsAtOnceAfter(const WaitOptions& options) {
  const bool not_ready = IsZero(options.backoff);
  return {false, not_ready,
          not_ready && IsZero(options.errors.throttled_backoff),
          IsZero(options.errors.server_error_backoff), false};
}

// The default backoff of one kind. Made once, because its windows take longer
// than all the rest of a policy.
template <typename Options>
const Backoff& DefaultBackoff() {
  static const auto& backoff = *new Backoff(Options());
  return backoff;
}

// Returns the backoff of `options`, or the default one if the status is not OK.
template <typename Options>
std::shared_ptr<const Backoff> MakeBackoff(const absl::Status& status,
                                           const Options& options) {
  if (status.ok() && options != Options()) {
    return std::make_shared<const Backoff>(options);
  }
  // Without an owner there is no reference count.
  return {std::shared_ptr<const void>(), &DefaultBackoff<Options>()};
}

// Returns whether waits with these options need no confirmation, generator or
// length of a streak.
bool NeedsNoState(const WaitOptions& options) {
  return options.confirm.successes == 1 &&
         options.confirm.hold_for == absl::ZeroDuration() &&
         !options.hooks.seed.has_value() &&
         !options.errors.max_consecutive_server_errors.has_value();
}

}  // namespace

std::shared_ptr<const WaitPolicy> WaitPolicy::Make(WaitOptions options,
                                                   absl::Status precondition) {
  if (precondition.ok()) precondition = Validate(options);
  // Makes the private constructor accessible.
  struct Accessible : WaitPolicy {
    Accessible(WaitOptions&& options, absl::Status&& status)
        : WaitPolicy(std::move(options), std::move(status)) {}
  };
  return std::make_shared<const Accessible>(std::move(options),
                                            std::move(precondition));
}

bool WaitPolicy::FirstSuccessSuffices(const WaitOptions& options) {
  return internal::ObserverOfWait(options.hooks.observer) == nullptr &&
         options.hooks.history_limit <= 0 &&
         options.hooks.on_failure == nullptr &&
         options.budgets.retry_quota == nullptr &&
         options.budgets.rate_limiter == nullptr &&
         options.confirm.successes == 1 &&
         options.confirm.hold_for == absl::ZeroDuration() &&
         options.polls.first_delay == absl::ZeroDuration();
}

std::chrono::nanoseconds WaitPolicy::ToLoopDuration(absl::Duration delay) {
  return std::min(absl::ToChronoNanoseconds(delay),
                  std::chrono::nanoseconds(kNoLimit / 4));
}

WaitPolicy::WaitPolicy(WaitOptions&& options, absl::Status&& status)
    : options_(std::move(options)),
      status_(std::move(status)),
      clock_(options_.clock != nullptr ? *options_.clock : GetRealClock()),
      observer_(internal::ObserverOfWait(options_.hooks.observer)),
      poll_hooks_(observer_ != nullptr ? observer_->poll_hooks()
                                       : WaitObserver::PollHooks()),
      delay_source_(
          status_.ok() && options_.delay_source != nullptr
              ? options_.delay_source.ForOperation(options_.operation, clock_)
              : nullptr),
      has_deadline_(options_.timeout.value_or(absl::InfiniteDuration()) <
                        absl::InfiniteDuration() ||
                    options_.deadline.value_or(absl::InfiniteFuture()) <
                        absl::InfiniteFuture()),
      keeps_details_(
          observer_ != nullptr || options_.hooks.history_limit > 0 ||
          options_.hooks.on_checkpoint != nullptr ||
          (delay_source_ != nullptr && delay_source_->records_durations())),
      source_replaces_all_(delay_source_ != nullptr &&
                           delay_source_->replaces() ==
                               DelaySource::Replaces::kAllDelays),
      has_budgets_(options_.budgets.retry_quota != nullptr ||
                   options_.budgets.rate_limiter != nullptr),
      // `observer_` first: `ObserveEveryWait` may have been called in between.
      first_success_suffices_(status_.ok() && observer_ == nullptr &&
                              FirstSuccessSuffices(options_)),
      is_plain_(status_.ok() && !keeps_details_ && !has_budgets_ &&
                NeedsNoState(options_)),
      polls_at_once_after_(first_success_suffices_ && delay_source_ == nullptr
                               ? PollsAtOnceAfter(options_)
                               : std::array<bool, 5>{}),
      limits_{
          .attempts = options_.max_attempts.value_or(kNoLimit),
          .consecutive_server_errors =
              options_.errors.max_consecutive_server_errors.value_or(kNoLimit)},
      durations_{.timeout = absl::ToChronoNanoseconds(std::max(
                     options_.timeout.value_or(absl::InfiniteDuration()),
                     absl::ZeroDuration())),
                 .first_poll_delay = ToLoopDuration(options_.polls.first_delay),
                 .hold_for = ToLoopDuration(options_.confirm.hold_for),
                 .final_poll_lead = ToLoopDuration(options_.polls.last_lead),
                 .final_poll_timeout = ToLoopDuration(std::min<absl::Duration>(
                     options_.polls.last_timeout, options_.poll_timeout)),
                 .max_retry_after = ToLoopDuration(
                     options_.errors.retry_after.max_retry_after),
                 .retry_after_overshoot =
                     ToLoopDuration(options_.errors.retry_after.overshoot)},
      not_ready_(MakeBackoff(status_, options_.backoff)),
      server_error_(MakeBackoff(status_, options_.errors.server_error_backoff)),
      throttled_(MakeBackoff(status_, options_.errors.throttled_backoff)) {}

void WaitPolicy::CallOnFailure(std::string_view name,
                               const WaitReport& report) const {
  const auto call = [&]() noexcept {
    options_.hooks.on_failure(
        {.name = name,
         .report = report,
         .timeout = options_.hooks.failure_timeout,
         .deadline = clock_.TimeNow() + options_.hooks.failure_timeout});
  };
  call();
}

MonotonicTime WaitPolicy::AbsoluteDeadlineFrom(MonotonicTime start) const {
  const absl::Duration remaining =
      std::max(*options_.deadline - clock_.TimeNow(), absl::ZeroDuration());
  return SaturatingAdd(start, absl::ToChronoNanoseconds(remaining));
}

}  // namespace waiter
