// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/delay.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter::internal {

using std::chrono::nanoseconds;

namespace {

bool IsValid(absl::Duration delay) {
  return delay >= absl::ZeroDuration() && delay < absl::InfiniteDuration();
}

std::optional<absl::Duration> AskSource(
    const ActiveWait& wait, MonotonicTime now,
    absl::FunctionRef<absl::Duration()> computed, absl::BitGenRef gen) {
  return wait.policy.delay_source()->NextDelay(
      {.found = wait.report.last_poll,
       .attempt = wait.report.attempts,
       .elapsed = DurationBetween(wait.state.start, now),
       .remaining = DurationBetween(now, wait.state.deadline),
       .retry_after = absl::FromChrono(RetryAfter(wait)),
       .computed = computed},
      gen);
}

}  // namespace

bool IsRetryAfterBeyondMax(const ActiveWait& wait) {
  const Poll<>& found = wait.report.last_poll;
  return found.retry_after() >
             wait.policy.options().errors.retry_after.max_retry_after &&
         found.retry_after() < absl::InfiniteDuration() &&
         found.status() != PollStatus::kSuccess;
}

std::optional<Delay> DelayByAnswer(ActiveWait& wait) {
  const std::optional<absl::Duration> delay =
      wait.report.last_poll.next_delay();
  if (!delay.has_value()) return std::nullopt;
  wait.state.growth = {};
  return Delay{
      std::max(WaitPolicy::ToLoopDuration(*delay),
               wait.policy.BackoffAfter(PollStatus::kNotReady).min_delay()),
      SleepReason::kAnswer};
}

std::optional<Delay> DelayBySource(ActiveWait& wait, MonotonicTime now,
                                   absl::BitGenRef gen) {
  // The backoffs advance once, even if the source calls again.
  std::optional<absl::Duration> by_options;
  const auto computed = [&] {
    if (!by_options.has_value()) {
      by_options = absl::FromChrono(
          DelayByOptions(wait, now, RetryAfter(wait), gen, /*plain=*/false)
              .length);
    }
    return *by_options;
  };
  std::optional<absl::Duration> delay = AskSource(wait, now, computed, gen);
  if (!delay.has_value()) return std::nullopt;
  if (!IsValid(*delay)) delay = computed();
  return Delay{WaitPolicy::ToLoopDuration(*delay), SleepReason::kDelaySource};
}

Delay BackoffBySource(ActiveWait& wait, MonotonicTime now,
                      const Backoff& backoff, absl::BitGenRef gen) {
  BackoffProgress& progress = wait.state.growth.not_ready;
  // Advances the backoff as if all polls had followed it: a throttled delay is
  // not shorter than its next one.
  const auto advance = [&] {
    backoff.AdvanceTo(now - wait.state.start, progress);
  };
  std::optional<absl::Duration> by_backoff;
  const auto computed = [&] {
    if (!by_backoff.has_value()) {
      advance();
      by_backoff = absl::FromChrono(backoff.NextDelay(progress, gen));
    }
    return *by_backoff;
  };
  std::optional<absl::Duration> delay = AskSource(wait, now, computed, gen);
  if (!delay.has_value() && !by_backoff.has_value()) {
    return {backoff.NextDelay(progress, gen), SleepReason::kNotReady};
  }
  if (!delay.has_value() || !IsValid(*delay)) delay = computed();
  if (delay == by_backoff) {
    return {absl::ToChronoNanoseconds(*delay), SleepReason::kNotReady};
  }
  if (!by_backoff.has_value()) advance();
  return {std::max(WaitPolicy::ToLoopDuration(*delay), backoff.min_delay()),
          SleepReason::kLearned};
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
  if (wait.report.attempts == 0 || wait.policy.source_replaces_all()) {
    return nanoseconds::zero();
  }
  return std::max(
      wait.policy.BackoffAfter(wait.state.streak_status).min_delay(),
      RetryAfter(wait));
}

}  // namespace waiter::internal
