// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/loop_budgets.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {
namespace {

// Returns the quota's charge for the next poll, given the last one's answer;
// nullopt if the poll is free.
std::optional<QuotaUse> NextUse(const ActiveWait& wait) {
  if (wait.report.attempts == 0) return QuotaUse::kFirstPoll;
  switch (wait.state.streak_status) {
    case PollStatus::kThrottled:
      return QuotaUse::kThrottled;
    case PollStatus::kServerError:
      return absl::IsDeadlineExceeded(wait.report.last_poll.error())
                 ? QuotaUse::kTimeout
                 : QuotaUse::kRetry;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool BookPoll(ActiveWait& wait, MonotonicTime now, Delay& delay,
              std::chrono::nanoseconds& min_delay) {
  const WaitOptions& options = wait.policy.options();
  WaitState& state = wait.state;
  const std::optional<QuotaUse> use = NextUse(wait);
  if (options.budgets.retry_quota == nullptr || !use.has_value()) return true;
  const std::optional<MonotonicTime> start =
      options.budgets.retry_quota->Acquire(*use, now, state.quota_token);
  state.poll_is_booked = start.has_value();
  if (!start.has_value()) {
    state.refused = options.budgets.delay_when_refused &&
                    delay.length > std::chrono::nanoseconds::zero() &&
                    wait.report.attempts > 0;
    return state.refused;
  }
  // A quota that will never have the tokens says `max()`.
  if (*start > state.deadline || *start == MonotonicTime::max()) return false;
  if (*start > now) {
    delay = {delay.length + (*start - now), SleepReason::kRetryQuota};
    min_delay = std::max(min_delay, *start - now);
  }
  return true;
}

std::optional<Delay> LimiterDelay(const ActiveWait& wait, MonotonicTime now) {
  RateLimiter* const limiter = wait.policy.options().budgets.rate_limiter.get();
  if (limiter == nullptr) return std::nullopt;
  const MonotonicTime start = limiter->Acquire(now);
  // A limiter only delays polls: the last one passes.
  if (start <= now || now >= wait.state.deadline) return std::nullopt;
  return Delay{std::min(start, wait.state.deadline) - now,
               SleepReason::kRateLimit};
}

void UpdateLimiter(const ActiveWait& wait, MonotonicTime now) {
  RateLimiter* const limiter = wait.policy.options().budgets.rate_limiter.get();
  if (limiter != nullptr) limiter->Update(now, wait.state.streak_status);
}

void SettleQuota(ActiveWait& wait, StopReason reason, MonotonicTime now) {
  RetryQuota* const quota = wait.policy.options().budgets.retry_quota.get();
  if (quota == nullptr) return;
  if (reason == StopReason::kSuccess) {
    quota->Release(now, wait.state.quota_token);
  } else if (wait.state.poll_is_booked) {
    quota->Refund(now, wait.state.quota_token);
  }
}

}  // namespace waiter::internal
