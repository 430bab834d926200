// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/final_status.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/learned/internal/learned_operation.h"
#include "waiter/learned/internal/poll_table.h"
#include "waiter/loop_steps.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

using std::chrono::nanoseconds;

absl::Duration Between(MonotonicTime from, MonotonicTime to) {
  return to == MonotonicTime::max() ? absl::InfiniteDuration()
                                    : absl::FromChrono(to - from);
}

// Learned delays need no more digits than a float has.
float ToFloatSeconds(nanoseconds duration) {
  return std::chrono::duration<float>(duration).count();
}

// Calls `hook` with the observer, which must be set. An exception that leaves
// it terminates the program.
template <typename Hook>
void CallHook(const WaitPolicy& policy, Hook hook) noexcept {
  hook(*policy.observer());
}

// Returns an identity that no wait of this process had.
uint64_t NextWaitId() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

// Reads top-down: `Start`, `OnPoll` and `OnWake`, then what they call. What
// runs at every poll is in wait_loop_steps.h. Row numbers are those of the
// table "What happens after a poll" in docs/design.md.

NextStep WaitLoop::Start(MonotonicTime now, MonotonicTime deadline,
                         StopRequested stop_requested) {
  state_.start = state_.step_started = now;
  state_.deadline = deadline;
  if (policy_.keeps_details()) Announce();
  if (!policy_.status().ok()) return Finish(StopReason::kInvalidOptions, now);
  if (stop_requested()) return Finish(StopReason::kCancelled, now);
  Delay delay = {policy_.durations().first_poll_delay,
                 SleepReason::kFirstPollDelay};
  nanoseconds least_delay = nanoseconds::zero();
  if (policy_.has_budgets()) {
    if (const std::optional<NextStep> step =
            BookPoll(now, delay, least_delay)) {
      return *step;
    }
  }
  if (delay.length == nanoseconds::zero()) return BeginPoll<Rules::kAny>(now);
  state_.sleep_is_fixed =
      IsFixed(delay.reason, /*least_delay=*/nanoseconds::zero());
  return SleepOrPoll<Rules::kAny>(now,
                                  FitToDeadline(now, delay,
                                                {.lead = nanoseconds::zero(),
                                                 .gap = nanoseconds::zero(),
                                                 .least_delay = least_delay}));
}

NextStep WaitLoop::Resume(MonotonicTime now, SavedWait saved,
                          StopRequested stop_requested) {
  if (!policy_.status().ok() || saved.name != internal::NameInToken(name())) {
    return RefuseToResume(now, saved);
  }
  const bool brief_report = state_.brief_report;
  state_ = saved.state;
  state_.brief_report = brief_report;
  state_.is_resumed = true;
  if (state_.streak_status == PollStatus::kNotReady) {
    state_.last_not_ready = ToFloatSeconds(state_.step_started - state_.start);
  }
  report_ = std::move(saved.report);
  if (policy_.keeps_details()) Announce();
  if (stop_requested()) return Finish(StopReason::kCancelled, now);
  if (!state_.asleep) {
    state_.step_started = now;
    ForgetLastPoll();
    return BeginPoll<Rules::kAny>(now);
  }
  if (saved.wake_up <= now) return OnWake(now, stop_requested);
  if (policy_.keeps_details()) {
    ReportSleep(now, {saved.wake_up - now, SleepReason::kResumed});
  }
  return NextStep::SleepUntil(saved.wake_up);
}

NextStep WaitLoop::OnPoll(MonotonicTime now, absl::BitGenRef gen,
                          StopRequested stop_requested,
                          const ReadTime* read_time) {
  const auto read_clock = [&] {
    return read_time == nullptr ? now : (*read_time)();
  };
  return TakeAnswer<Rules::kAny>(now, gen, stop_requested, read_clock);
}

NextStep WaitLoop::OnWake(MonotonicTime now, StopRequested stop_requested) {
  return EndSleep<Rules::kAny>(now, stop_requested);
}

std::optional<NextStep> WaitLoop::OnNotified(MonotonicTime now,
                                             StopRequested stop_requested) {
  if (!state_.asleep) return std::nullopt;
  state_.growth = {};
  if (state_.sleep_is_fixed) return std::nullopt;
  const MonotonicTime earliest =
      SaturatingAdd(state_.step_started, LeastDelay());
  if (earliest > now && state_.final_poll) return std::nullopt;
  if (!report_.history.empty()) {
    LastRecord().delay = Between(state_.step_started, std::max(earliest, now));
  }
  if (earliest > now) {
    if (policy_.keeps_details()) Checkpoint(now, earliest);
    return NextStep::SleepUntil(earliest);
  }
  state_.final_poll = false;
  return OnWake(now, stop_requested);
}

// Ends a wait that cannot go on with `saved`, before its first poll.
NextStep WaitLoop::RefuseToResume(MonotonicTime now, const SavedWait& saved) {
  state_.start = state_.step_started = now;
  state_.deadline = MonotonicTime::max();
  if (policy_.keeps_details()) Announce();
  if (!policy_.status().ok()) return Finish(StopReason::kInvalidOptions, now);
  Close(StopReason::kInvalidOptions, now,
        absl::InvalidArgumentError(absl::StrCat(
            internal::ToAbsl(name()), ": the saved wait is \"", saved.name,
            "\"; go on with it under that name, or start anew")));
  return NextStep::Finish();
}

// Leaves only the status of a poll that another process made: the functions of
// a driver may set no more than that.
void WaitLoop::ForgetLastPoll() {
  state_.is_resumed = false;
  report_.last_poll = report_.last_poll.status();
}

// Helpers of `OnPoll`, in the order of the rows.

void WaitLoop::RejectUnknownStatus() {
  report_.last_poll = Failed(absl::InternalError(absl::StrCat(
      "the status function returned ",
      static_cast<int>(report_.last_poll.status()),
      ", which is not a valid PollStatus; return one of its enumerators")));
}

NextStep WaitLoop::ApplyDelayRule(MonotonicTime now, absl::BitGenRef gen) {
  // The curves advance once, however often the rule calls.
  std::optional<absl::Duration> built_in;
  const auto computed = [&] {
    if (!built_in.has_value()) {
      built_in =
          absl::FromChrono(BuiltInDelay<Rules::kAny>(now, Hint(), gen).length);
    }
    return *built_in;
  };
  std::optional<absl::Duration> answer =
      policy_.options().delay_rule({.found = report_.last_poll,
                                    .attempt = report_.attempts,
                                    .elapsed = Between(state_.start, now),
                                    .remaining = Between(now, state_.deadline),
                                    .computed = computed},
                                   gen);
  // Row 7: the rule wants no further poll.
  if (!answer.has_value()) return Finish(StopReason::kDelayRule, now);
  if (*answer < absl::ZeroDuration() || *answer == absl::InfiniteDuration()) {
    answer = computed();
  }
  return DelayPoll<Rules::kAny>(
      now, {WaitPolicy::ToLoopDuration(*answer), SleepReason::kDelayRule},
      /*least_delay=*/nanoseconds::zero());
}

// Returns the time after the last poll before which no notification causes the
// next one.
inline nanoseconds WaitLoop::LeastDelay() const {
  if (report_.attempts == 0 || policy_.has_delay_rule()) {
    return nanoseconds::zero();
  }
  return std::max(Curve().min_delay(), Hint());
}

// Returns the learned delay, or that of the curve, or, where the model decides
// in part, one between them: the more the model knows, the closer to its own,
// on a logarithmic scale.
ABSL_ATTRIBUTE_NOINLINE WaitLoop::Delay WaitLoop::LearnedDelayOr(
    MonotonicTime now, const Backoff& curve, absl::BitGenRef gen) {
  const nanoseconds elapsed = now - state_.start;
  const internal::LearnedDelay found = policy_.learned()->Find(elapsed, gen);
  BackoffProgress& progress = state_.growth.not_ready;
  // Without a table, the wait is an ordinary one.
  if (found.delay <= 0) {
    return {curve.NextDelay(progress, gen), SleepReason::kNotReady};
  }
  // As far on the curve as if all polls had followed it: a throttled delay is
  // not shorter than the curve's next one.
  curve.AdvanceTo(elapsed, progress);
  auto seconds = static_cast<double>(found.delay);
  if (found.weight < 1) {
    const double other = std::max(
        std::chrono::duration<double>(curve.NextDelay(progress, gen)).count(),
        1e-9);
    seconds = other * std::pow(seconds / other, found.weight);
  }
  return {std::max(WaitPolicy::ToLoopDuration(absl::Seconds(seconds)),
                   curve.min_delay()),
          found.weight <= 0 ? SleepReason::kNotReady : SleepReason::kLearned};
}

// Returns whether the hint of the last poll exceeds `max_retry_after`.
bool WaitLoop::HintIsBeyondMax() const {
  const Poll<>& found = report_.last_poll;
  return found.retry_after() >
             policy_.options().errors.retry_after.max_retry_after &&
         found.retry_after() < absl::InfiniteDuration() &&
         found.status() != PollStatus::kSuccess;
}

NextStep WaitLoop::FailBeyondMax(MonotonicTime now) {
  EndWithError(now, internal::HintError(report_.last_poll,
                                        policy_.options().errors.retry_after));
  return NextStep::Finish();
}

// Combines the delay of the curve with the hint, by `retry_after.rule`.
WaitLoop::Delay WaitLoop::ApplyHint(Delay computed, nanoseconds hint,
                                    absl::BitGenRef gen) {
  const RetryAfterOptions& options = policy_.options().errors.retry_after;
  switch (options.rule) {
    case RetryAfterOptions::Rule::kReplace:
      state_.growth = {};
      return {hint, SleepReason::kRetryAfter};
    case RetryAfterOptions::Rule::kSum:
      return {computed.length + hint, SleepReason::kRetryAfter};
    case RetryAfterOptions::Rule::kClamp:
      if (hint <= computed.length) return computed;
      return {std::min(hint, computed.length +
                                 policy_.durations().retry_after_overshoot),
              SleepReason::kRetryAfter};
    case RetryAfterOptions::Rule::kLowerBound:
      break;
  }
  if (hint < computed.length) return computed;  // Which is jittered already.
  state_.growth = {};
  return {std::min(UniformDelay(hint, hint + hint / 4, gen),
                   policy_.durations().max_retry_after),
          SleepReason::kRetryAfter};
}

ABSL_ATTRIBUTE_NOINLINE void WaitLoop::AnnouncePoll() {
  state_.poll_announced = true;
  if (!policy_.poll_hooks().before_poll) return;
  CallHook(policy_, [&](WaitObserver& observer) {
    observer.BeforePoll(Identity(), report_.attempts + 1);
  });
}

// Budgets.

// Pays for the next poll from the quota. If the tokens are there only later,
// lengthens `delay` by the time until then and raises `least_delay` to it.
// Returns the last step of the wait if no poll will follow.
std::optional<NextStep> WaitLoop::BookPoll(MonotonicTime now, Delay& delay,
                                           nanoseconds& least_delay) {
  const WaitOptions& options = policy_.options();
  const std::optional<QuotaUse> use = NextUse();
  if (options.budgets.retry_quota == nullptr || !use.has_value())
    return std::nullopt;
  const std::optional<MonotonicTime> start =
      options.budgets.retry_quota->Acquire(*use, now, state_.quota_token);
  state_.poll_is_booked = start.has_value();
  if (!start.has_value()) {
    if (!options.budgets.delay_when_refused ||
        delay.length == nanoseconds::zero() || report_.attempts == 0) {
      return Finish(StopReason::kQuota, now);
    }
    state_.refused = true;
    return std::nullopt;
  }
  // A quota that will never have the tokens says `max()`.
  if (*start > state_.deadline || *start == MonotonicTime::max()) {
    return Finish(StopReason::kQuota, now);
  }
  if (*start > now) {
    delay = {delay.length + (*start - now), SleepReason::kRetryQuota};
    least_delay = std::max(least_delay, *start - now);
  }
  return std::nullopt;
}

// Returns what the quota charges for the next poll, given what the last one
// found; nullopt if the poll is free.
std::optional<QuotaUse> WaitLoop::NextUse() const {
  if (report_.attempts == 0) return QuotaUse::kFirstPoll;
  switch (state_.streak_status) {
    case PollStatus::kThrottled:
      return QuotaUse::kThrottled;
    case PollStatus::kServerError:
      return absl::IsDeadlineExceeded(report_.last_poll.error())
                 ? QuotaUse::kTimeout
                 : QuotaUse::kRetry;
    default:
      return std::nullopt;
  }
}

// Returns nullopt if a poll may begin now, and otherwise the sleep before it.
std::optional<NextStep> WaitLoop::PassLimiter(MonotonicTime now) {
  RateLimiter* const limiter = policy_.options().budgets.rate_limiter.get();
  if (limiter == nullptr) return std::nullopt;
  const MonotonicTime start = limiter->Acquire(now);
  // A limiter delays polls, and takes none away: the last one passes.
  if (start <= now || now >= state_.deadline) return std::nullopt;
  state_.sleep_is_fixed = true;
  return Sleep<Rules::kAny>(
      now, {std::min(start, state_.deadline) - now, SleepReason::kRateLimit});
}

// Gives tokens back: those of the last paid poll after a success, and those of
// a poll that was paid for and never began.
void WaitLoop::SettleQuota(StopReason reason, MonotonicTime now) {
  RetryQuota* const quota = policy_.options().budgets.retry_quota.get();
  if (quota == nullptr) return;
  if (reason == StopReason::kSuccess) {
    quota->Release(now, state_.quota_token);
  } else if (state_.poll_is_booked) {
    quota->Refund(now, state_.quota_token);
  }
}

// Reports.

void WaitLoop::RecordError() {
  if (!report_.first_error.has_value()) {
    report_.first_error = report_.last_poll;
  }
  report_.last_error = report_.last_poll;
}

void WaitLoop::RecordDetails(MonotonicTime now) {
  const Poll<>& found = report_.last_poll;
  const WaitOptions& options = policy_.options();
  if (options.hooks.history_limit > 0) {
    PollRecord record = {.attempt = report_.attempts,
                         .started = Between(state_.start, state_.step_started),
                         .took = Between(state_.step_started, now),
                         .status = found.status(),
                         .detail = std::string(found.detail()),
                         .delay = absl::ZeroDuration()};
    // The history is a ring; `Close` puts it in order.
    if (std::ssize(report_.history) < options.hooks.history_limit) {
      report_.history.push_back(std::move(record));
    } else {
      LastRecord() = std::move(record);
    }
  }
  if (found.status() == PollStatus::kNotReady) {
    state_.last_not_ready = ToFloatSeconds(state_.step_started - state_.start);
  }
  if (policy_.observer() != nullptr) {
    state_.poll_announced = false;
    ReportPoll(now, found);
  }
}

// Tells the model of learned delays how long the operation took. A wait whose
// first poll succeeds says nothing about delays, and one that ended otherwise
// says nothing if no poll after its start has found "not ready".
void WaitLoop::RecordDuration(StopReason reason, MonotonicTime now) {
  if (policy_.learned() == nullptr || report_.attempts == 0) return;
  const bool has_end = reason == StopReason::kSuccess;
  if (state_.last_not_ready <= 0 &&
      (!has_end || report_.attempts == state_.streak_length)) {
    return;
  }
  // A streak of successes began with the poll that found the first one.
  const MonotonicTime end =
      state_.streak_length > 1 ? state_.streak_started : now;
  policy_.learned()->Record(
      {.after = absl::Seconds(state_.last_not_ready),
       .by = has_end ? Between(state_.start, end) : absl::InfiniteDuration()},
      now);
}

// Returns the record of the poll `report_.attempts`; the history must not be
// empty. A wait that was resumed has no records of its first polls.
PollRecord& WaitLoop::LastRecord() {
  std::vector<PollRecord>& ring = report_.history;
  return ring[static_cast<size_t>(report_.attempts - ring.front().attempt) %
              ring.size()];
}

WaitIdentity WaitLoop::Identity() const {
  return {.id = state_.id,
          .name = name(),
          .operation = policy_.options().operation};
}

// Calls `OnStart`, once.
ABSL_ATTRIBUTE_NOINLINE void WaitLoop::Announce() {
  if (policy_.observer() == nullptr || state_.id != 0) return;
  state_.id = NextWaitId();
  CallHook(policy_, [&](WaitObserver& observer) {
    observer.OnStart({.wait = Identity(),
                      .timeout = policy_.status().ok()
                                     ? Between(state_.start, state_.deadline)
                                     : absl::InfiniteDuration(),
                      .first_poll_delay = policy_.options().polls.first_delay});
  });
}

// Returns the event of the poll that ended at `poll_ended`. It has an answer if
// that is recorded, and the poll is not announced any more.
PollEvent WaitLoop::EventOf(const Poll<>& found) const {
  const bool answered = !state_.poll_announced;
  return {.wait = Identity(),
          .attempt = report_.attempts + (answered ? 0 : 1),
          .elapsed = Between(state_.start, state_.poll_ended),
          .took = Between(state_.step_started, state_.poll_ended),
          .found = found,
          .answered = answered};
}

ABSL_ATTRIBUTE_NOINLINE void WaitLoop::ReportPoll(MonotonicTime now,
                                                  const Poll<>& found) {
  state_.poll_ended = now;
  state_.is_undecided = true;
  if (!policy_.poll_hooks().after_poll) return;
  CallHook(policy_,
           [&](WaitObserver& observer) { observer.AfterPoll(EventOf(found)); });
}

// Reports the decision about the poll that `ReportPoll` reported: a delay, or,
// without one, the end.
ABSL_ATTRIBUTE_NOINLINE void WaitLoop::ReportDecision(
    const Poll<>& found, std::optional<Delay> delay) {
  state_.is_undecided = false;
  if (!policy_.poll_hooks().on_decision) return;
  CallHook(policy_, [&](WaitObserver& observer) {
    const PollEvent poll = EventOf(found);
    DecisionEvent decision = {
        .poll = poll, .delay = {}, .reason = {}, .ended = {}};
    if (delay.has_value()) {
      decision.delay = absl::FromChrono(delay->length);
      decision.reason = delay->reason;
    } else {
      decision.ended = report_.reason;
    }
    observer.OnDecision(decision);
  });
}

ABSL_ATTRIBUTE_NOINLINE void WaitLoop::ReportSleep(MonotonicTime now,
                                                   Delay delay) {
  if (!report_.history.empty()) {
    // A rate limiter may add to a delay.
    LastRecord().delay += absl::FromChrono(delay.length);
  }
  if (policy_.observer() != nullptr && policy_.poll_hooks().before_sleep) {
    CallHook(policy_, [&](WaitObserver& observer) {
      observer.BeforeSleep({.wait = Identity(),
                            .attempt = report_.attempts,
                            .elapsed = Between(state_.start, now),
                            .delay = absl::FromChrono(delay.length),
                            .reason = delay.reason});
    });
  }
  Checkpoint(now, SaturatingAdd(now, delay.length));
}

void WaitLoop::Checkpoint(MonotonicTime now, MonotonicTime wake_up) {
  const auto& on_checkpoint = policy_.options().hooks.on_checkpoint;
  if (on_checkpoint == nullptr) return;
  [&]() noexcept {
    on_checkpoint(SaveWait(state_, report_, name(), wake_up,
                           {now, policy_.clock().TimeNow()}));
  }();
}

// Services for drivers: ends from outside, and the context of a poll.

NextStep WaitLoop::End(MonotonicTime now, StopReason reason, bool unanswered) {
  if (state_.asleep) WakeUp(now);
  state_.unanswered = unanswered;
  return Finish(reason, now);
}

void WaitLoop::EndWithException(MonotonicTime now, std::string_view what) {
  absl::Status error(absl::StatusCode::kUnknown, "");
  WAITER_TRY {
    error = absl::UnknownError(
        absl::StrCat("the status function threw an exception",
                     what.empty() ? "" : ": ", internal::ToAbsl(what)));
  }
  WAITER_CATCH(const std::bad_alloc&) {
    // The exception may have been that memory ran out.
  }
  EndWithError(now, std::move(error));
}

void WaitLoop::EndWithError(MonotonicTime now, absl::Status error) {
  Close(StopReason::kFailed, now,
        internal::NameWait(std::move(error), internal::ToAbsl(name()),
                           report_.attempts, state_.start, now));
}

MonotonicTime WaitLoop::AnswerDeadline() const {
  if (state_.step_started < state_.deadline) {
    return std::max(state_.deadline,
                    SaturatingAdd(state_.step_started,
                                  policy_.durations().final_poll_timeout));
  }
  return SaturatingAdd(state_.step_started, TimeAtDeadline());
}

// Returns the time that a poll gets which begins at the deadline or later: what
// the options give the last poll or each poll, otherwise twice the longest poll
// so far, but at least 1 s and at most 10 s.
nanoseconds WaitLoop::TimeAtDeadline() const {
  if (policy_.durations().final_poll_timeout > nanoseconds::zero()) {
    return policy_.durations().final_poll_timeout;
  }
  const absl::Duration timeout = policy_.options().poll_timeout;
  if (timeout != absl::InfiniteDuration()) {
    return WaitPolicy::ToLoopDuration(timeout);
  }
  return std::clamp<nanoseconds>(2 * state_.longest_poll,
                                 std::chrono::seconds(1),
                                 std::chrono::seconds(10));
}

PollContext WaitLoop::Context(absl::Time wall_now) const {
  PollContext context;
  context.attempt = report_.attempts + 1;
  context.elapsed = Between(state_.start, state_.step_started);
  context.remaining =
      Between(std::min(state_.step_started, state_.deadline), state_.deadline);
  context.timeout =
      context.remaining > absl::ZeroDuration()
          ? std::min<absl::Duration>(
                policy_.options().poll_timeout,
                std::max<absl::Duration>(context.remaining,
                                         policy_.options().polls.last_timeout))
          : absl::FromChrono(TimeAtDeadline());
  context.deadline = wall_now + context.timeout;
  context.wait_id = state_.id;
  if (report_.attempts > 0) context.last_status = report_.last_poll.status();
  return context;
}

// Ends of waits.

NextStep WaitLoop::Finish(StopReason reason, MonotonicTime now) {
  return Finish(reason, now, now);
}

// Ends a wait at `now` whose last answer, if that ends it, came at `answered`.
NextStep WaitLoop::Finish(StopReason reason, MonotonicTime answered,
                          MonotonicTime now) {
  const bool is_answer =
      reason == StopReason::kSuccess || reason == StopReason::kFailed;
  report_.late = is_answer && answered > state_.deadline;
  if (report_.late && policy_.options().polls.strict_deadline) {
    reason = StopReason::kDeadline;
  }
  Close(reason, now, StatusFor(reason, answered, now));
  return NextStep::Finish();
}

absl::Status WaitLoop::StatusFor(StopReason reason, MonotonicTime answered,
                                 MonotonicTime now) {
  if (reason == StopReason::kSuccess) return absl::OkStatus();
  // A caller that ends the wait on purpose needs no text.
  if (state_.brief_report &&
      (reason == StopReason::kCancelled || reason == StopReason::kShutDown)) {
    return {absl::StatusCode::kCancelled, ""};
  }
  const internal::FinalState state = {
      .policy = policy_,
      .name = internal::ToAbsl(name()),
      .report = report_,
      .start = state_.start,
      .deadline = state_.deadline,
      .answered = answered,
      .now = now,
      .streak_length = state_.streak_length,
      .streak_started = state_.streak_started,
      .hint = state_.final_poll ? Nanoseconds::zero() : Hint(),
      .unanswered = state_.unanswered};
  return internal::FinalStatus(reason, state);
}

void WaitLoop::Close(StopReason reason, MonotonicTime now,
                     absl::Status status) {
  if (policy_.has_budgets()) SettleQuota(reason, now);
  report_.reason = reason;
  report_.status = std::move(status);
  report_.elapsed = Between(state_.start, now);
  report_.slept = absl::FromChrono(state_.slept);
  report_.longest_poll = absl::FromChrono(state_.longest_poll);
  if (!policy_.keeps_details()) return;
  RecordDuration(reason, now);
  if (!report_.history.empty()) {
    const auto newest = &LastRecord() - report_.history.data();
    std::rotate(report_.history.begin(), report_.history.begin() + newest + 1,
                report_.history.end());
  }
  if (policy_.observer() == nullptr) return;
  Announce();
  if (state_.poll_announced) {
    // A poll without an answer.
    const Poll<> found = Failed(report_.status);
    ReportPoll(now, found);
    ReportDecision(found, std::nullopt);
  } else if (state_.is_undecided) {
    ReportDecision(report_.last_poll, std::nullopt);
  }
  CallHook(policy_, [&](WaitObserver& observer) {
    observer.OnDone(Identity(), report_);
  });
}

}  // namespace waiter
