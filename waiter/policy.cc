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
#include "waiter/learned/learned_delays.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/result.h"

namespace waiter {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

bool IsZero(const BackoffOptions& curve) {
  return curve.initial_delay == absl::ZeroDuration() &&
         MinDelay(curve) == absl::ZeroDuration();
}

// Returns, for each `PollStatus` in its order, whether the next poll follows
// without a delay.
std::array<bool, 5> PollsAtOnceAfter(const WaitOptions& options) {
  const bool not_ready = IsZero(options.backoff);
  return {false, not_ready, not_ready && IsZero(options.throttled),
          IsZero(options.server_error), false};
}

// One of the curves of `WaitOptions()`. Made once, because its windows take
// longer than all the rest of a policy.
template <BackoffOptions WaitOptions::*kCurve>
struct DefaultCurve {
  BackoffOptions options = WaitOptions().*kCurve;
  Backoff backoff{options};
};

// Returns one curve of `options`, or the default one if the status is not OK.
template <BackoffOptions WaitOptions::*kCurve>
std::shared_ptr<const Backoff> MakeCurve(const absl::Status& status,
                                         const WaitOptions& options) {
  static const auto& by_default = *new DefaultCurve<kCurve>();
  if (status.ok() && options.*kCurve != by_default.options) {
    return std::make_shared<const Backoff>(options.*kCurve);
  }
  // Without an owner there is nothing to count.
  return {std::shared_ptr<const void>(), &by_default.backoff};
}

// Returns whether waits with these options do without confirmation, a generator
// of their own and the length of a streak.
bool NeedsNoState(const WaitOptions& options) {
  return options.successes_required == 1 &&
         options.hold_for == absl::ZeroDuration() &&
         !options.seed.has_value() &&
         !options.max_consecutive_server_errors.has_value();
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
  return internal::ObserverOfWait(options.observer) == nullptr &&
         options.history_limit <= 0 && options.on_give_up == nullptr &&
         options.retry_quota == nullptr && options.rate_limiter == nullptr &&
         options.successes_required == 1 &&
         options.hold_for == absl::ZeroDuration() &&
         options.first_poll_delay == absl::ZeroDuration();
}

std::chrono::nanoseconds WaitPolicy::ToLoopDuration(absl::Duration delay) {
  return std::min(absl::ToChronoNanoseconds(delay),
                  std::chrono::nanoseconds(kNoLimit / 4));
}

WaitPolicy::WaitPolicy(WaitOptions&& options, absl::Status&& status)
    : options_(std::move(options)),
      status_(std::move(status)),
      clock_(options_.clock != nullptr ? *options_.clock : GetRealClock()),
      observer_(internal::ObserverOfWait(options_.observer)),
      poll_hooks_(observer_ != nullptr ? observer_->poll_hooks()
                                       : WaitObserver::PollHooks()),
      learned_(status_.ok() && options_.learned_delays != nullptr
                   ? options_.learned_delays->Of(options_.operation,
                                                 clock_.MonotonicNow())
                   : nullptr),
      has_deadline_(options_.timeout.value_or(absl::InfiniteDuration()) <
                        absl::InfiniteDuration() ||
                    options_.deadline.value_or(absl::InfiniteFuture()) <
                        absl::InfiniteFuture()),
      keeps_details_(observer_ != nullptr || options_.history_limit > 0 ||
                     options_.on_checkpoint != nullptr || learned_ != nullptr),
      has_delay_rule_(options_.delay_rule != nullptr),
      has_budgets_(options_.retry_quota != nullptr ||
                   options_.rate_limiter != nullptr),
      // `observer_` first: `ObserveEveryWait` may have been called meanwhile.
      first_success_suffices_(status_.ok() && observer_ == nullptr &&
                              FirstSuccessSuffices(options_)),
      is_plain_(status_.ok() && !keeps_details_ && !has_budgets_ &&
                NeedsNoState(options_)),
      polls_at_once_after_(first_success_suffices_ && !has_delay_rule_
                               ? PollsAtOnceAfter(options_)
                               : std::array<bool, 5>{}),
      limits_{.attempts = options_.max_attempts.value_or(kNoLimit),
              .consecutive_server_errors =
                  options_.max_consecutive_server_errors.value_or(kNoLimit)},
      durations_{.timeout = absl::ToChronoNanoseconds(std::max(
                     options_.timeout.value_or(absl::InfiniteDuration()),
                     absl::ZeroDuration())),
                 .first_poll_delay = ToLoopDuration(options_.first_poll_delay),
                 .hold_for = ToLoopDuration(options_.hold_for),
                 .final_poll_lead = ToLoopDuration(options_.final_poll_lead),
                 .final_poll_timeout = ToLoopDuration(std::min(
                     options_.final_poll_timeout, options_.poll_timeout)),
                 .max_retry_after =
                     ToLoopDuration(options_.retry_after.max_retry_after),
                 .retry_after_overshoot =
                     ToLoopDuration(options_.retry_after.overshoot)},
      not_ready_(MakeCurve<&WaitOptions::backoff>(status_, options_)),
      server_error_(MakeCurve<&WaitOptions::server_error>(status_, options_)),
      throttled_(MakeCurve<&WaitOptions::throttled>(status_, options_)) {}

void WaitPolicy::CallOnGiveUp(std::string_view name,
                              const WaitReport& report) const {
  const auto call = [&]() noexcept {
    options_.on_give_up(
        {.name = name,
         .report = report,
         .timeout = options_.give_up_timeout,
         .deadline = clock_.TimeNow() + options_.give_up_timeout});
  };
  call();
}

MonotonicTime WaitPolicy::AbsoluteDeadlineFrom(MonotonicTime start) const {
  const absl::Duration remaining =
      std::max(*options_.deadline - clock_.TimeNow(), absl::ZeroDuration());
  return SaturatingAdd(start, absl::ToChronoNanoseconds(remaining));
}

}  // namespace waiter
