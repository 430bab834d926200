// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/delay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/learned/internal/learned_operation.h"
#include "waiter/learned/internal/poll_table.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter::internal {

using std::chrono::nanoseconds;

bool IsRetryAfterBeyondMax(const ActiveWait& wait) {
  const Poll<>& found = wait.report.last_poll;
  return found.retry_after() >
             wait.policy.options().errors.retry_after.max_retry_after &&
         found.retry_after() < absl::InfiniteDuration() &&
         found.status() != PollStatus::kSuccess;
}

std::optional<Delay> DelayByRule(ActiveWait& wait, MonotonicTime now,
                                 absl::BitGenRef gen) {
  const WaitState& state = wait.state;
  // The backoffs advance once, however often the rule calls.
  std::optional<absl::Duration> built_in;
  const auto computed = [&] {
    if (!built_in.has_value()) {
      built_in = absl::FromChrono(
          DelayByOptions(wait, now, RetryAfter(wait), gen, /*plain=*/false)
              .length);
    }
    return *built_in;
  };
  std::optional<absl::Duration> answer = wait.policy.options().delay_rule(
      {.found = wait.report.last_poll,
       .attempt = wait.report.attempts,
       .elapsed = DurationBetween(state.start, now),
       .remaining = DurationBetween(now, state.deadline),
       .computed = computed},
      gen);
  if (!answer.has_value()) return std::nullopt;
  if (*answer < absl::ZeroDuration() || *answer == absl::InfiniteDuration()) {
    answer = computed();
  }
  return Delay{WaitPolicy::ToLoopDuration(*answer), SleepReason::kDelayRule};
}

// The more the model knows, the closer the delay is to its own, on a
// logarithmic scale.
Delay DelayByModel(ActiveWait& wait, MonotonicTime now, const Backoff& backoff,
                   absl::BitGenRef gen) {
  const nanoseconds elapsed = now - wait.state.start;
  const auto found = wait.policy.learned()->Find(elapsed, gen);
  BackoffProgress& progress = wait.state.growth.not_ready;
  // Without a table, the wait is an ordinary one.
  if (found.delay <= 0) {
    return {backoff.NextDelay(progress, gen), SleepReason::kNotReady};
  }
  // As far on the backoff as if all polls had followed it: a throttled delay is
  // not shorter than its next one.
  backoff.AdvanceTo(elapsed, progress);
  auto seconds = static_cast<double>(found.delay);
  if (found.weight < 1) {
    const double other = std::max(
        std::chrono::duration<double>(backoff.NextDelay(progress, gen)).count(),
        1e-9);
    seconds = other * std::pow(seconds / other, found.weight);
  }
  return {std::max(WaitPolicy::ToLoopDuration(absl::Seconds(seconds)),
                   backoff.min_delay()),
          found.weight <= 0 ? SleepReason::kNotReady : SleepReason::kLearned};
}

Delay ApplyRetryAfter(ActiveWait& wait, Delay computed, nanoseconds retry_after,
                      absl::BitGenRef gen) {
  const WaitPolicy::Durations& durations = wait.policy.durations();
  switch (wait.policy.options().errors.retry_after.rule) {
    case RetryAfterOptions::Rule::kReplace:
      wait.state.growth = {};
      return {retry_after, SleepReason::kRetryAfter};
    case RetryAfterOptions::Rule::kSum:
      return {computed.length + retry_after, SleepReason::kRetryAfter};
    case RetryAfterOptions::Rule::kClamp:
      if (retry_after <= computed.length) return computed;
      return {std::min(retry_after,
                       computed.length + durations.retry_after_overshoot),
              SleepReason::kRetryAfter};
    case RetryAfterOptions::Rule::kLowerBound:
      break;
  }
  if (retry_after < computed.length) return computed;  // Already jittered.
  wait.state.growth = {};
  return {
      std::min(UniformDelay(retry_after, retry_after + retry_after / 4, gen),
               durations.max_retry_after),
      SleepReason::kRetryAfter};
}

nanoseconds MinDelay(const ActiveWait& wait) {
  if (wait.report.attempts == 0 || wait.policy.has_delay_rule()) {
    return nanoseconds::zero();
  }
  return std::max(
      wait.policy.BackoffAfter(wait.state.streak_status).min_delay(),
      RetryAfter(wait));
}

}  // namespace waiter::internal
