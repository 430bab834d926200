// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How long a wait sleeps between two polls, and why. `plain` is explained in
// decide.h.

#ifndef WAITER_DELAY_H_
#define WAITER_DELAY_H_

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/base/attributes.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter::internal {

// A delay before the next poll and the rule that decided it.
struct Delay {
  std::chrono::nanoseconds length;
  SleepReason reason;
};

inline absl::Duration DurationBetween(MonotonicTime from, MonotonicTime to) {
  return to == MonotonicTime::max() ? absl::InfiniteDuration()
                                    : absl::FromChrono(to - from);
}

// Returns the server's `retry_after`, at most `max_retry_after`; zero without
// one.
inline std::chrono::nanoseconds RetryAfter(const ActiveWait& wait) {
  const absl::Duration retry_after = wait.report.last_poll.retry_after();
  if (retry_after <= absl::ZeroDuration() ||
      retry_after == absl::InfiniteDuration() ||
      wait.state.streak_status == PollStatus::kSuccess) {
    return std::chrono::nanoseconds::zero();
  }
  return std::min(absl::ToChronoNanoseconds(retry_after),
                  wait.policy.durations().max_retry_after);
}
bool IsRetryAfterBeyondMax(const ActiveWait& wait);

// Returns the delay that the answer itself sets, and restarts growth; nullopt
// if it sets none.
std::optional<Delay> DelayByAnswer(ActiveWait& wait);

// Returns the delay by a source of all delays; nullopt ends the wait.
std::optional<Delay> DelayBySource(ActiveWait& wait, MonotonicTime now,
                                   absl::BitGenRef gen);

// Returns the delay after "not ready" by a source that replaces `backoff`.
Delay BackoffBySource(ActiveWait& wait, MonotonicTime now,
                      const Backoff& backoff, absl::BitGenRef gen);

// Combines `computed` with `retry_after`, by `RetryAfterOptions::rule`.
Delay ApplyRetryAfter(ActiveWait& wait, Delay computed,
                      std::chrono::nanoseconds retry_after,
                      absl::BitGenRef gen);

// Returns the delay by the backoff of the status found, and advances or
// restarts its growth.
template <typename Gen>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Delay DelayByStatus(ActiveWait& wait,
                                                        MonotonicTime now,
                                                        Gen& gen, bool plain) {
  const WaitPolicy& policy = wait.policy;
  WaitState& state = wait.state;
  WaitGrowth& growth = state.growth;
  const PollStatus status = plain ? PollStatus::kNotReady : state.streak_status;
  const Backoff& backoff = policy.BackoffAfter(status);
  switch (status) {
    case PollStatus::kServerError:
      return {backoff.NextDelay(growth.server_error, gen),
              SleepReason::kServerError};
    case PollStatus::kThrottled: {
      growth.server_error = {};
      // After a throttled poll, the longer delay of the "throttled" and the
      // "not ready" backoff applies. The latter does not advance: it is a copy.
      BackoffProgress not_ready = growth.not_ready;
      const std::chrono::nanoseconds min_delay =
          policy.BackoffAfter(PollStatus::kNotReady).NextDelay(not_ready, gen);
      return {std::max(min_delay, backoff.NextDelay(growth.throttled, gen)),
              SleepReason::kThrottled};
    }
    case PollStatus::kSuccess: {
      growth = {};
      BackoffProgress no_growth;
      std::chrono::nanoseconds delay = backoff.NextDelay(no_growth, gen);
      if (state.hold_is_open) {
        const std::chrono::nanoseconds left =
            policy.durations().hold_for - (now - state.streak_started);
        // A hook may have lasted beyond the end of the hold.
        delay =
            std::min(delay, std::max(left, std::chrono::nanoseconds::zero()));
      }
      return {delay, SleepReason::kConfirming};
    }
    default: {
      growth.server_error = growth.throttled = {};
      if (!plain && policy.delay_source() != nullptr &&
          !policy.source_replaces_all()) {
        return BackoffBySource(wait, now, backoff, gen);
      }
      // A copy, as a variable whose address is taken is not kept in a register.
      BackoffProgress progress = growth.not_ready;
      const std::chrono::nanoseconds delay = backoff.NextDelay(progress, gen);
      growth.not_ready = progress;
      return {delay, SleepReason::kNotReady};
    }
  }
}

// Returns the delay by the status found and the server's `retry_after`, before
// it is fitted to the deadline.
template <typename Gen>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Delay DelayByOptions(
    ActiveWait& wait, MonotonicTime now, std::chrono::nanoseconds retry_after,
    Gen& gen, bool plain) {
  const Delay delay = DelayByStatus(wait, now, gen, plain);
  return plain || retry_after == std::chrono::nanoseconds::zero()
             ? delay
             : ApplyRetryAfter(wait, delay, retry_after, gen);
}

// Rules for placing the last poll of a wait.
struct LastPollRules {
  // The poll begins this long before the deadline.
  std::chrono::nanoseconds lead;
  // A delay that leaves no more time than this is the last one.
  std::chrono::nanoseconds gap;
  // Lower bound of that delay, even within the lead.
  std::chrono::nanoseconds min_delay;
};

// Places the last poll: stretches or cuts a delay that comes too close to the
// deadline (docs/design.md, "The last poll").
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Delay FitToDeadline(ActiveWait& wait,
                                                        MonotonicTime now,
                                                        Delay delay,
                                                        LastPollRules rules) {
  WaitState& state = wait.state;
  const std::chrono::nanoseconds remaining = state.deadline - now;
  // A lead that no longer fits is dropped.
  if (rules.lead >= remaining) rules.lead = std::chrono::nanoseconds::zero();
  if (state.deadline == MonotonicTime::max() ||
      remaining - delay.length > std::max(rules.gap, rules.lead)) {
    return delay;
  }
  state.final_poll = true;
  return {
      std::max(remaining - rules.lead, std::min(rules.min_delay, remaining)),
      SleepReason::kFinalPoll};
}

// Returns whether notifications do not cut short a sleep that `reason` decided.
// `min_delay` is what `MinDelay` returns now: a brief report later lacks what
// that needs.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsFixed(
    const ActiveWait& wait, SleepReason reason,
    std::chrono::nanoseconds min_delay) {
  return reason == SleepReason::kRetryAfter ||
         reason == SleepReason::kRetryQuota ||
         reason == SleepReason::kConfirming || wait.state.refused ||
         (wait.state.brief_report &&
          min_delay > std::chrono::nanoseconds::zero());
}

// Returns the time after the last poll before which no notification causes the
// next one.
std::chrono::nanoseconds MinDelay(const ActiveWait& wait);

}  // namespace waiter::internal

#endif  // WAITER_DELAY_H_
