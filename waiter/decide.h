// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Decides after a poll. `Decide` is the table "What happens after a poll" of
// docs/design.md, row by row.
//
// It is inline because drivers call it at every poll, with their own generator
// and stop request.

#ifndef WAITER_DECIDE_H_
#define WAITER_DECIDE_H_

#include <chrono>
#include <optional>

#include "absl/base/attributes.h"
#include "waiter/clock.h"
#include "waiter/delay.h"
#include "waiter/loop.h"
#include "waiter/loop_budgets.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// The end of a wait, or else the delay before its next poll.
struct Decision {
  static Decision End(StopReason reason) { return {true, reason, {}}; }
  static Decision PollAfter(Delay delay) { return {false, {}, delay}; }

  bool is_end;
  StopReason reason;
  Delay delay;
};

// Most polls of most waits are plain:
//
// * The policy asks only for backoff, times and `max_attempts`, not for
//   confirmation, consecutive limits, a delay source, budgets, hooks or
//   history.
// * The answer is "not ready" without an error, a text or a `retry_after`.
//
// The arguments `plain` below say that both hold. Rows that cannot apply then
// are skipped; false is always correct, and decide_test compares the decisions.
// Drivers pass a constant, which saves a fifth of the instructions of an
// engine's poll: without those rows nothing takes the address of the wait, so
// that the compiler can keep it in registers.
inline bool IsPlain(const WaitPolicy& policy) {
  return policy.is_plain() && policy.delay_source() == nullptr;
}
inline bool IsPlain(const Poll<>& answer) {
  return answer.status() == PollStatus::kNotReady && !answer.has_details();
}

// Returns whether the successes in a row are enough, and have lasted enough.
inline bool IsConfirmed(ActiveWait& wait, MonotonicTime answered) {
  WaitState& state = wait.state;
  const std::chrono::nanoseconds hold_for = wait.policy.durations().hold_for;
  state.hold_is_open = answered - state.streak_started < hold_for;
  if (state.streak_length < wait.policy.options().confirm.successes) {
    return false;
  }
  return hold_for == std::chrono::nanoseconds::zero() ||
         (state.streak_length >= 2 && !state.hold_is_open);
}

inline bool IsConsecutiveLimitReached(const ActiveWait& wait) {
  return wait.state.streak_status == PollStatus::kServerError &&
         wait.state.streak_length >=
             wait.policy.limits().consecutive_server_errors;
}

// Rows 9 and 10: whether a poll may follow `delay`, and how long the delay is
// then. Near the deadline it is at least `min_delay`.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Decision DecideNextPoll(
    ActiveWait& wait, MonotonicTime now, Delay delay,
    std::chrono::nanoseconds min_delay, bool plain) {
  using std::chrono::nanoseconds;
  const WaitPolicy& policy = wait.policy;
  WaitState& state = wait.state;
  const nanoseconds gap = policy.BackoffAfter(state.streak_status).min_delay();
  // Row 9: the retry quota refuses, or has no tokens before the deadline.
  if (!plain && policy.has_budgets()) {
    // Copies, as a variable whose address is taken is not kept in a register.
    Delay booked = delay;
    nanoseconds min_booked = min_delay;
    if (!BookPoll(wait, now, booked, min_booked)) {
      return Decision::End(StopReason::kQuota);
    }
    delay = booked;
    min_delay = min_booked;
  }
  // Row 10: another poll. A hold may end exactly at the deadline, so no lead
  // cuts it short.
  const SleepReason reason = delay.reason;
  const nanoseconds lead = state.streak_status == PollStatus::kSuccess
                               ? nanoseconds::zero()
                               : policy.durations().final_poll_lead;
  delay = FitToDeadline(wait, now, delay,
                        {.lead = lead, .gap = gap, .min_delay = min_delay});
  if (delay.length > nanoseconds::zero()) {
    state.sleep_is_fixed = IsFixed(wait, reason, plain ? gap : MinDelay(wait));
  }
  return Decision::PollAfter(delay);
}

// Rows 7 to 10: whether a poll follows, and after which delay.
template <typename Gen>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Decision DecideDelay(ActiveWait& wait,
                                                         MonotonicTime now,
                                                         Gen& gen, bool plain) {
  auto retry_after = std::chrono::nanoseconds::zero();
  if (!plain) {
    const WaitPolicy& policy = wait.policy;
    if (const std::optional<Delay> delay = DelayByAnswer(wait)) {
      return DecideNextPoll(wait, now, *delay, retry_after, plain);
    }
    // Row 7: a source of all delays wants no further poll. It is not asked
    // about a success to be confirmed.
    if (policy.source_replaces_all() &&
        wait.state.streak_status != PollStatus::kSuccess) {
      const std::optional<Delay> delay = DelayBySource(wait, now, gen);
      if (!delay.has_value()) return Decision::End(StopReason::kDelaySource);
      return DecideNextPoll(wait, now, *delay, retry_after, plain);
    }
    const RetryAfterOptions& options = policy.options().errors.retry_after;
    if (options.fail_beyond_max && IsRetryAfterBeyondMax(wait)) {
      return Decision::End(StopReason::kFailed);
    }
    // Row 8: `retry_after` reaches beyond the deadline.
    retry_after = RetryAfter(wait);
    if (retry_after > wait.state.deadline - now &&
        options.past_deadline == RetryAfterOptions::PastDeadline::kStop) {
      return Decision::End(StopReason::kDeadline);
    }
  }
  const Delay delay = DelayByOptions(wait, now, retry_after, gen, plain);
  return DecideNextPoll(wait, now, delay, retry_after, plain);
}

// Decides the step after the last poll of the report. Its answer came at
// `answered`; `now` is later by the time that hooks took. `stop_requested` is
// called once at most.
template <typename Gen, typename StopRequested>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Decision Decide(
    ActiveWait& wait, MonotonicTime answered, MonotonicTime now, Gen& gen,
    StopRequested& stop_requested, bool plain) {
  if (!plain) {
    const PollStatus status = wait.report.last_poll.status();
    // Row 1: success, and it has held as long as required.
    if (status == PollStatus::kSuccess && IsConfirmed(wait, answered)) {
      return Decision::End(StopReason::kSuccess);
    }
    // Row 2: failed, or an unknown status.
    if (status == PollStatus::kFailed) {
      return Decision::End(StopReason::kFailed);
    }
    // Row 3: the limit on consecutive server errors.
    if (IsConsecutiveLimitReached(wait)) {
      return Decision::End(StopReason::kConsecutiveLimit);
    }
  }
  // Row 4: `max_attempts` polls made.
  if (wait.report.attempts >= wait.policy.limits().attempts) {
    return Decision::End(StopReason::kAttempts);
  }
  // Row 5: stop requested.
  if (stop_requested()) return Decision::End(StopReason::kCancelled);
  // Row 6: at the deadline, or after the last poll.
  if (wait.state.final_poll || now >= wait.state.deadline) {
    return Decision::End(StopReason::kDeadline);
  }
  return DecideDelay(wait, now, gen, plain);
}

}  // namespace waiter::internal

#endif  // WAITER_DECIDE_H_
