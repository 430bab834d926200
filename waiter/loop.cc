// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/loop.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/decide.h"
#include "waiter/final_status.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop_budgets.h"
#include "waiter/loop_report.h"
#include "waiter/loop_steps.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

using internal::Delay;
using internal::DurationBetween;
using std::chrono::nanoseconds;

NextStep WaitLoop::Start(MonotonicTime now, MonotonicTime deadline,
                         StopRequested stop_requested) {
  const WaitPolicy& policy = wait_.policy;
  wait_.state.start = wait_.state.step_started = now;
  wait_.state.deadline = deadline;
  if (policy.keeps_details()) ReportStart(wait_);
  if (!policy.status().ok()) {
    return Finish(wait_, StopReason::kInvalidOptions, now);
  }
  if (stop_requested()) return Finish(wait_, StopReason::kCancelled, now);
  Delay delay = {policy.durations().first_poll_delay,
                 SleepReason::kFirstPollDelay};
  nanoseconds min_delay = nanoseconds::zero();
  if (policy.has_budgets() && !BookPoll(wait_, now, delay, min_delay)) {
    return Finish(wait_, StopReason::kQuota, now);
  }
  if (delay.length == nanoseconds::zero()) return BeginPoll(wait_, now);
  wait_.state.sleep_is_fixed =
      IsFixed(wait_, delay.reason, /*min_delay=*/nanoseconds::zero());
  return PollAfter(wait_, now,
                   FitToDeadline(wait_, now, delay,
                                 {.lead = nanoseconds::zero(),
                                  .gap = nanoseconds::zero(),
                                  .min_delay = min_delay}),
                   /*plain=*/false);
}

NextStep WaitLoop::Resume(MonotonicTime now, SavedWait saved,
                          StopRequested stop_requested) {
  const WaitPolicy& policy = wait_.policy;
  WaitState& state = wait_.state;
  if (!policy.status().ok() || saved.name != internal::NameInToken(name())) {
    return RefuseToResume(now, saved);
  }
  const bool brief_report = state.brief_report;
  state = saved.state;
  state.brief_report = brief_report;
  state.is_resumed = true;
  if (state.streak_status == PollStatus::kNotReady) {
    internal::RecordNotReady(state);
  }
  wait_.report = std::move(saved.report);
  if (policy.keeps_details()) ReportStart(wait_);
  if (stop_requested()) return Finish(wait_, StopReason::kCancelled, now);
  if (!state.asleep) {
    state.step_started = now;
    ForgetLastPoll(wait_);
    return BeginPoll(wait_, now);
  }
  if (saved.wake_up <= now) return OnWake(now, stop_requested);
  if (policy.keeps_details()) {
    ReportSleep(wait_, now, {saved.wake_up - now, SleepReason::kResumed});
  }
  return NextStep::SleepUntil(saved.wake_up);
}

// Ends a wait that cannot continue with `saved`, before its first poll.
NextStep WaitLoop::RefuseToResume(MonotonicTime now, const SavedWait& saved) {
  wait_.state.start = wait_.state.step_started = now;
  wait_.state.deadline = MonotonicTime::max();
  if (wait_.policy.keeps_details()) ReportStart(wait_);
  if (!wait_.policy.status().ok()) {
    return Finish(wait_, StopReason::kInvalidOptions, now);
  }
  Close(wait_, StopReason::kInvalidOptions, now,
        absl::InvalidArgumentError(absl::StrCat(
            internal::ToAbsl(name()), ": the saved wait is \"", saved.name,
            "\"; continue it under that name, or start again")));
  return NextStep::Finish();
}

NextStep WaitLoop::OnPoll(MonotonicTime now, absl::BitGenRef gen,
                          StopRequested stop_requested,
                          const ReadTime* read_time) {
  return internal::LoopSteps::OnPoll(*this, now, gen, stop_requested, [&] {
    return read_time == nullptr ? now : (*read_time)();
  });
}

NextStep WaitLoop::OnWake(MonotonicTime now, StopRequested stop_requested) {
  return internal::LoopSteps::OnWake(*this, now, stop_requested);
}

std::optional<NextStep> WaitLoop::OnNotified(MonotonicTime now,
                                             StopRequested stop_requested) {
  WaitState& state = wait_.state;
  if (!state.asleep) return std::nullopt;
  state.growth = {};
  if (state.sleep_is_fixed) return std::nullopt;
  const nanoseconds min_delay = MinDelay(wait_);
  const MonotonicTime earliest = SaturatingAdd(state.step_started, min_delay);
  if (earliest > now && state.final_poll) {
    // The poll must come before the last one, and not too close to it.
    nanoseconds lead = wait_.policy.durations().final_poll_lead;
    if (lead >= state.deadline - state.step_started) {
      lead = nanoseconds::zero();
    }
    if (SaturatingAdd(earliest, std::max(min_delay, lead)) >= state.deadline) {
      return std::nullopt;
    }
    state.final_poll = false;
  }
  ReplaceRecordedDelay(
      wait_, DurationBetween(state.step_started, std::max(earliest, now)));
  if (earliest > now) {
    // It cannot end earlier. So a checkpoint that notifies does not cause
    // another one.
    state.sleep_is_fixed = true;
    if (wait_.policy.keeps_details()) SaveCheckpoint(wait_, now, earliest);
    return NextStep::SleepUntil(earliest);
  }
  state.final_poll = false;
  return OnWake(now, stop_requested);
}

// Ends from outside.

NextStep WaitLoop::End(MonotonicTime now, StopReason reason, bool unanswered) {
  if (wait_.state.asleep) internal::EndSleep(wait_, now);
  wait_.state.unanswered = unanswered;
  return Finish(wait_, reason, now);
}

void WaitLoop::EndSuspended(MonotonicTime now, bool unanswered) {
  if (wait_.policy.observer() == nullptr) return;
  if (wait_.state.asleep) internal::EndSleep(wait_, now);
  wait_.state.unanswered = unanswered;
  internal::CloseReport(
      wait_, StopReason::kCancelled, now,
      absl::CancelledError(absl::StrCat(internal::ToAbsl(name()),
                                        ": suspended, to be resumed")));
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
  Close(wait_, StopReason::kFailed, now,
        internal::NameWait(std::move(error), internal::ToAbsl(name()),
                           wait_.report.attempts, wait_.state.start, now));
}

// The times and the context of a poll.

namespace {

// Returns the time limit of a poll that begins at the deadline or later:
// `final_poll_timeout` or `poll_timeout` if set. Otherwise that is twice the
// longest poll so far, but at least 1 s and at most 10 s.
nanoseconds TimeAtDeadline(const internal::ActiveWait& wait) {
  if (wait.policy.durations().final_poll_timeout > nanoseconds::zero()) {
    return wait.policy.durations().final_poll_timeout;
  }
  const absl::Duration timeout = wait.policy.options().poll_timeout;
  if (timeout != absl::InfiniteDuration()) {
    return WaitPolicy::ToLoopDuration(timeout);
  }
  return std::clamp<nanoseconds>(2 * wait.state.longest_poll,
                                 std::chrono::seconds(1),
                                 std::chrono::seconds(10));
}

}  // namespace

MonotonicTime WaitLoop::AnswerDeadline() const {
  const WaitState& state = wait_.state;
  if (state.step_started < state.deadline) {
    return std::max(state.deadline,
                    SaturatingAdd(state.step_started,
                                  wait_.policy.durations().final_poll_timeout));
  }
  return SaturatingAdd(state.step_started, TimeAtDeadline(wait_));
}

PollContext WaitLoop::Context(absl::Time wall_now) const {
  const WaitState& state = wait_.state;
  const WaitOptions& options = wait_.policy.options();
  PollContext context;
  context.attempt = wait_.report.attempts + 1;
  context.elapsed = DurationBetween(state.start, state.step_started);
  context.remaining = DurationBetween(
      std::min(state.step_started, state.deadline), state.deadline);
  context.timeout =
      context.remaining > absl::ZeroDuration()
          ? std::min<absl::Duration>(
                options.poll_timeout,
                std::max<absl::Duration>(context.remaining,
                                         options.polls.last_timeout))
          : absl::FromChrono(TimeAtDeadline(wait_));
  context.deadline = wall_now + context.timeout;
  context.wait_id = state.id;
  if (wait_.report.attempts > 0) {
    context.last_status = wait_.report.last_poll.status();
  }
  return context;
}

}  // namespace waiter
