// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of `WaitLoop` that runs at every poll of every wait, as templates
// that a driver of this library inlines together with its generator, its stop
// request and its clock:
//
//   NextStep step = internal::LoopSteps::OnPoll(loop, now, gen, stop_requested,
//                                               read_time);
//
// `WaitLoop::OnPoll` and `OnWake` are these with types that are erased, so
// there is one copy of each rule, and every driver decides alike.

#ifndef WAITER_LOOP_STEPS_H_
#define WAITER_LOOP_STEPS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/base/attributes.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

namespace internal {

// What the compiler knows of the waits that it compiles the loop for. Rules
// that cannot apply are then left out; those that can are the same.
enum class LoopRules : uint8_t {
  kAny,
  // `LoopSteps::IsPlain` holds for the policy, and for an answer.
  kPlain,
  // The same, and nothing takes the address of the loop, so that a driver which
  // makes it for one call has it in registers. `kFinish` means only that the
  // wait ends: to end it, the driver calls another such loop with `kAny`.
  kPlainInRegisters,
};

// For drivers. Each function is the one of `WaitLoop` with the same name.
class LoopSteps {
 public:
  // Most polls of most waits are plain.
  static bool IsPlain(const WaitPolicy& policy) {
    return policy.is_plain() && !policy.has_delay_rule();
  }
  static bool IsPlain(const Poll<>& answer) {
    return answer.status() == PollStatus::kNotReady && !answer.has_details();
  }

  // `gen` is an `absl::BitGenRef` or a `GivenOrOwnGen`. `read_time` is called
  // only if there is an observer.
  template <LoopRules kRules = LoopRules::kAny, typename Gen,
            typename StopRequested, typename ReadTime>
  static NextStep OnPoll(WaitLoop& loop, MonotonicTime now, Gen& gen,
                         StopRequested stop_requested, ReadTime read_time) {
    return loop.TakeAnswer<kRules>(now, gen, stop_requested, read_time);
  }

  template <LoopRules kRules = LoopRules::kAny, typename StopRequested>
  static NextStep OnWake(WaitLoop& loop, MonotonicTime now,
                         StopRequested stop_requested) {
    return loop.EndSleep<kRules>(now, stop_requested);
  }
};

// The generator that a caller has given, or else one of the driver's own, from
// which a delay is drawn without a call through a pointer.
template <typename Own>
class GivenOrOwnGen {
 public:
  // `given` may be null. Both must outlive this.
  GivenOrOwnGen(absl::BitGenRef* given, Own& own) : given_(given), own_(own) {}

  absl::BitGenRef Erased() {
    return given_ == nullptr ? absl::BitGenRef(own_) : *given_;
  }

 private:
  friend std::chrono::nanoseconds UniformDelay(std::chrono::nanoseconds low,
                                               std::chrono::nanoseconds high,
                                               GivenOrOwnGen& gen) {
    return gen.given_ == nullptr ? waiter::UniformDelay(low, high, gen.own_)
                                 : waiter::UniformDelay(low, high, *gen.given_);
  }
  absl::BitGenRef* const given_;
  Own& own_;
};

// Returns `gen` for code that is compiled once for all generators.
template <typename Gen>
absl::BitGenRef ErasedGen(Gen& gen) {
  if constexpr (std::is_same_v<Gen, absl::BitGenRef>) {
    return gen;
  } else {
    return gen.Erased();
  }
}

}  // namespace internal

// A delay before the next poll and the rule that decided it.
struct WaitLoop::Delay {
  Nanoseconds length;
  SleepReason reason;
};

// Rules for placing the last poll of a wait.
struct WaitLoop::LastPollRules {
  Nanoseconds lead;         // The poll begins this long before the deadline.
  Nanoseconds gap;          // A delay that leaves no more time is the last one.
  Nanoseconds least_delay;  // Lower bound of that delay, even within the lead.
};

// Row numbers are those of the table "What happens after a poll" in
// docs/design.md. Functions with two callers are always inlined. Calls of hooks
// are not, so that waits without an observer keep short functions.

template <WaitLoop::Rules kRules>
inline NextStep WaitLoop::FinishBy(StopReason reason, MonotonicTime now) {
  return kRules == Rules::kPlainInRegisters ? NextStep::Finish()
                                            : Finish(reason, now);
}

template <WaitLoop::Rules kRules>
inline bool WaitLoop::HasBudgets() const {
  return kRules == Rules::kAny && policy_.has_budgets();
}

template <WaitLoop::Rules kRules>
inline bool WaitLoop::HasObserver() const {
  return kRules == Rules::kAny && policy_.observer() != nullptr;
}

template <WaitLoop::Rules kRules>
inline bool WaitLoop::KeepsDetails() const {
  return kRules == Rules::kAny && policy_.keeps_details();
}

template <WaitLoop::Rules kRules, typename Gen, typename Stop,
          typename ReadClock>
inline NextStep WaitLoop::TakeAnswer(MonotonicTime now, Gen& gen,
                                     Stop& stop_requested,
                                     ReadClock& read_time) {
  if constexpr (kRules == Rules::kAny) {
    if (report_.last_poll.status() > PollStatus::kFailed) RejectUnknownStatus();
  }
  const MonotonicTime answered = now;
  Record<kRules>(answered);
  if (HasObserver<kRules>()) now = std::max(now, read_time());
  if constexpr (kRules == Rules::kAny) {
    const PollStatus status = report_.last_poll.status();
    // Row 1: success, and it has held as long as required.
    if (status == PollStatus::kSuccess && Confirmed(answered)) {
      return Finish(StopReason::kSuccess, answered, now);
    }
    // Row 2: failed, or an unknown status.
    if (status == PollStatus::kFailed) {
      return Finish(StopReason::kFailed, answered, now);
    }
    // Row 3: a limit on consecutive polls of one status.
    if (ConsecutiveLimitReached()) {
      return Finish(StopReason::kConsecutiveLimit, now);
    }
  }
  // Row 4: `max_attempts` polls made.
  if (report_.attempts >= policy_.limits().attempts) {
    return FinishBy<kRules>(StopReason::kAttempts, now);
  }
  // Row 5: stop requested.
  if (stop_requested()) {
    return FinishBy<kRules>(StopReason::kCancelled, now);
  }
  // Row 6: at the deadline, or after the last poll.
  if (state_.final_poll || now >= state_.deadline) {
    return FinishBy<kRules>(StopReason::kDeadline, now);
  }
  // Rows 7 to 10.
  return Continue<kRules>(now, gen);
}

template <WaitLoop::Rules kRules, typename Stop>
inline NextStep WaitLoop::EndSleep(MonotonicTime now, Stop& stop_requested) {
  WakeUp(now);
  if (stop_requested()) {
    return FinishBy<kRules>(StopReason::kCancelled, now);
  }
  if constexpr (kRules == Rules::kAny) {
    // Row 9, with `delay_when_refused`.
    if (state_.refused) return Finish(StopReason::kQuota, now);
    if (state_.is_resumed) ForgetLastPoll();
  }
  return BeginPoll<kRules>(now);
}

// Helpers of `TakeAnswer`, in the order of the rows.

// Returns whether enough successes in a row were found, for long enough.
inline bool WaitLoop::Confirmed(MonotonicTime answered) {
  const Nanoseconds hold_for = policy_.durations().hold_for;
  state_.hold_is_open = answered - state_.streak_started < hold_for;
  if (state_.streak_length < policy_.options().confirm.successes) return false;
  return hold_for == Nanoseconds::zero() ||
         (state_.streak_length >= 2 && !state_.hold_is_open);
}

inline bool WaitLoop::ConsecutiveLimitReached() const {
  return state_.streak_status == PollStatus::kServerError &&
         state_.streak_length >= policy_.limits().consecutive_server_errors;
}

// Decides rows 7 to 10: whether another poll follows, and after which delay.
template <WaitLoop::Rules kRules, typename Gen>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline NextStep WaitLoop::Continue(
    MonotonicTime now, Gen& gen) {
  Nanoseconds hint = Nanoseconds::zero();
  if constexpr (kRules == Rules::kAny) {
    // Row 7: `delay_rule` decides, except about a success to be confirmed.
    if (policy_.has_delay_rule() &&
        state_.streak_status != PollStatus::kSuccess) {
      return ApplyDelayRule(now, internal::ErasedGen(gen));
    }
    const RetryAfterOptions& hints = policy_.options().errors.retry_after;
    if (hints.fail_beyond_max && HintIsBeyondMax()) return FailBeyondMax(now);
    // Row 8: the hint reaches beyond the deadline.
    hint = Hint();
    if (hint > state_.deadline - now &&
        hints.past_deadline == RetryAfterOptions::PastDeadline::kStop) {
      return Finish(StopReason::kDeadline, now);
    }
  }
  // Rows 9 and 10.
  return DelayPoll<kRules>(now, BuiltInDelay<kRules>(now, hint, gen), hint);
}

template <WaitLoop::Rules kRules>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline NextStep WaitLoop::DelayPoll(
    MonotonicTime now, Delay delay, Nanoseconds least_delay) {
  const Nanoseconds min_delay = Curve().min_delay();
  const Nanoseconds hint = least_delay;
  // Row 9: the retry quota refuses, or has no tokens before the deadline.
  if (HasBudgets<kRules>()) {
    // Copies, because an object whose address is taken is not kept in a
    // register.
    Delay booked = delay;
    Nanoseconds least_booked = least_delay;
    if (const std::optional<NextStep> step =
            BookPoll(now, booked, least_booked)) {
      return *step;
    }
    delay = booked;
    least_delay = least_booked;
  }
  // Row 10: the wait goes on. A hold may end exactly at the deadline, so no
  // lead cuts it short.
  const Nanoseconds lead = state_.streak_status == PollStatus::kSuccess
                               ? Nanoseconds::zero()
                               : policy_.durations().final_poll_lead;
  const SleepReason reason = delay.reason;
  delay = FitToDeadline(
      now, delay, {.lead = lead, .gap = min_delay, .least_delay = least_delay});
  if (delay.length > Nanoseconds::zero()) {
    // As `LeastDelay` returns it, without looking it up again.
    state_.sleep_is_fixed =
        IsFixed(reason, kRules == Rules::kAny && policy_.has_delay_rule()
                            ? Nanoseconds::zero()
                            : std::max(min_delay, hint));
  }
  return SleepOrPoll<kRules>(now, delay);
}

// Returns whether a sleep that `reason` decided ignores notifications.
// `least_delay` is what `LeastDelay` returns now, which needs things that a
// brief report forgets.
inline bool WaitLoop::IsFixed(SleepReason reason,
                              Nanoseconds least_delay) const {
  return reason == SleepReason::kRetryAfter ||
         reason == SleepReason::kRetryQuota ||
         reason == SleepReason::kConfirming || state_.refused ||
         (state_.brief_report && least_delay > Nanoseconds::zero());
}

// Returns the delay by the curve of the status found and by the server's hint.
template <WaitLoop::Rules kRules, typename Gen>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline WaitLoop::Delay WaitLoop::BuiltInDelay(
    MonotonicTime now, Nanoseconds hint, Gen& gen) {
  const Delay delay = ComputeDelay<kRules>(now, Curve(), gen);
  if constexpr (kRules == Rules::kAny) {
    if (hint > Nanoseconds::zero()) {
      return ApplyHint(delay, hint, internal::ErasedGen(gen));
    }
  }
  return delay;
}

// Returns the delay by the curve alone, and advances or restarts its growth.
template <WaitLoop::Rules kRules, typename Gen>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline WaitLoop::Delay WaitLoop::ComputeDelay(
    MonotonicTime now, const Backoff& curve, Gen& gen) {
  switch (kRules == Rules::kAny ? state_.streak_status
                                : PollStatus::kNotReady) {
    case PollStatus::kServerError:
      return {curve.NextDelay(state_.growth.server_error, gen),
              SleepReason::kServerError};
    case PollStatus::kThrottled: {
      state_.growth.server_error = {};
      // A throttled poll is followed by the longer delay of its own curve and
      // the "not ready" curve. The latter does not advance: it is a copy.
      BackoffProgress not_ready = state_.growth.not_ready;
      const Nanoseconds least =
          policy_.CurveAfter(PollStatus::kNotReady).NextDelay(not_ready, gen);
      return {std::max(least, curve.NextDelay(state_.growth.throttled, gen)),
              SleepReason::kThrottled};
    }
    case PollStatus::kSuccess: {
      state_.growth = {};
      BackoffProgress no_growth;
      Nanoseconds delay = curve.NextDelay(no_growth, gen);
      if (state_.hold_is_open) {
        const Nanoseconds left =
            policy_.durations().hold_for - (now - state_.streak_started);
        // A hook may have lasted beyond the end of the hold.
        delay = std::min(delay, std::max(left, Nanoseconds::zero()));
      }
      return {delay, SleepReason::kConfirming};
    }
    default: {
      state_.growth.server_error = state_.growth.throttled = {};
      if constexpr (kRules == Rules::kAny) {
        if (policy_.learned() != nullptr) {
          return LearnedDelayOr(now, curve, internal::ErasedGen(gen));
        }
      }
      // A copy, as in `DelayPoll`.
      BackoffProgress progress = state_.growth.not_ready;
      const Nanoseconds delay = curve.NextDelay(progress, gen);
      state_.growth.not_ready = progress;
      return {delay, SleepReason::kNotReady};
    }
  }
}

// Returns the server's hint, at most `max_retry_after`; zero if there is none.
inline std::chrono::nanoseconds WaitLoop::Hint() const {
  const absl::Duration hint = report_.last_poll.retry_after();
  if (hint <= absl::ZeroDuration() || hint == absl::InfiniteDuration() ||
      state_.streak_status == PollStatus::kSuccess) {
    return Nanoseconds::zero();
  }
  return std::min(absl::ToChronoNanoseconds(hint),
                  policy_.durations().max_retry_after);
}

// Places the last poll: stretches or cuts a delay that comes too close to the
// deadline (docs/design.md, "The last poll").
inline WaitLoop::Delay WaitLoop::FitToDeadline(MonotonicTime now, Delay delay,
                                               LastPollRules rules) {
  const Nanoseconds remaining = state_.deadline - now;
  // A lead that does not fit any more is dropped.
  if (rules.lead >= remaining) rules.lead = Nanoseconds::zero();
  if (state_.deadline == MonotonicTime::max() ||
      remaining - delay.length > std::max(rules.gap, rules.lead)) {
    return delay;
  }
  state_.final_poll = true;
  return {
      std::max(remaining - rules.lead, std::min(rules.least_delay, remaining)),
      SleepReason::kFinalPoll};
}

template <WaitLoop::Rules kRules>
inline NextStep WaitLoop::SleepOrPoll(MonotonicTime now, Delay delay) {
  if (KeepsDetails<kRules>() && state_.is_undecided) {
    ReportDecision(report_.last_poll, delay);
  }
  if (delay.length > Nanoseconds::zero()) {
    return Sleep<kRules>(now, delay);
  }
  state_.step_started = now;
  return BeginPoll<kRules>(now);
}

template <WaitLoop::Rules kRules>
inline NextStep WaitLoop::Sleep(MonotonicTime now, Delay delay) {
  state_.step_started = now;
  state_.asleep = true;
  if (KeepsDetails<kRules>()) ReportSleep(now, delay);
  return NextStep::SleepUntil(SaturatingAdd(now, delay.length));
}

template <WaitLoop::Rules kRules>
inline NextStep WaitLoop::BeginPoll(MonotonicTime now) {
  if (HasBudgets<kRules>()) {
    if (const std::optional<NextStep> step = PassLimiter(now)) return *step;
    state_.poll_is_booked = false;
  }
  if (HasObserver<kRules>()) AnnouncePoll();
  return NextStep::Poll();
}

// Adds `report_.last_poll` to the report, the streak and the rate limiter.
template <WaitLoop::Rules kRules>
inline void WaitLoop::Record(MonotonicTime now) {
  const PollStatus status = report_.last_poll.status();
  ++report_.attempts;
  if (state_.streak_length == 0 || state_.streak_status != status) {
    state_.streak_status = status;
    state_.streak_length = 0;
    state_.streak_started =
        status == PollStatus::kSuccess ? state_.step_started : now;
  }
  ++state_.streak_length;
  if (!state_.brief_report) {
    ++report_.counts[static_cast<size_t>(status)];
    state_.longest_poll =
        std::max(state_.longest_poll, now - state_.step_started);
    if constexpr (kRules == Rules::kAny) {
      if (status >= PollStatus::kThrottled) RecordError();
    }
  }
  if (HasBudgets<kRules>() &&
      policy_.options().budgets.rate_limiter != nullptr) {
    policy_.options().budgets.rate_limiter->Update(now, status);
  }
  if (KeepsDetails<kRules>()) RecordDetails(now);
}

inline void WaitLoop::WakeUp(MonotonicTime now) {
  state_.slept += now - state_.step_started;
  state_.step_started = now;
  state_.asleep = false;
}

}  // namespace waiter

#endif  // WAITER_LOOP_STEPS_H_
