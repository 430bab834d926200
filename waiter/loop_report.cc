// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/loop_report.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/delay.h"
#include "waiter/delay_source.h"
#include "waiter/final_status.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/loop_budgets.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {
namespace {

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

WaitIdentity IdentityOf(const ActiveWait& wait) {
  return {.id = wait.state.id,
          .name = wait.name(),
          .operation = wait.policy.options().operation};
}

// Returns the event of the poll that ended at `poll_ended`. It has an answer if
// that is recorded, and the poll is no longer announced.
PollEvent EventOf(const ActiveWait& wait, const Poll<>& found) {
  const WaitState& state = wait.state;
  const bool answered = !state.poll_announced;
  return {.wait = IdentityOf(wait),
          .attempt = wait.report.attempts + (answered ? 0 : 1),
          .elapsed = DurationBetween(state.start, state.poll_ended),
          .took = DurationBetween(state.step_started, state.poll_ended),
          .found = found,
          .answered = answered};
}

void ReportPoll(ActiveWait& wait, MonotonicTime now, const Poll<>& found) {
  wait.state.poll_ended = now;
  wait.state.is_undecided = true;
  if (!wait.policy.poll_hooks().after_poll) return;
  CallHook(wait.policy, [&](WaitObserver& observer) {
    observer.AfterPoll(EventOf(wait, found));
  });
}

// Reports the decision about the poll that `ReportPoll` reported: a delay, or,
// without one, the end.
void ReportDecision(ActiveWait& wait, const Poll<>& found,
                    std::optional<Delay> delay) {
  wait.state.is_undecided = false;
  if (!wait.policy.poll_hooks().on_decision) return;
  CallHook(wait.policy, [&](WaitObserver& observer) {
    const PollEvent poll = EventOf(wait, found);
    DecisionEvent decision = {
        .poll = poll, .delay = {}, .reason = {}, .ended = {}};
    if (delay.has_value()) {
      decision.delay = absl::FromChrono(delay->length);
      decision.reason = delay->reason;
    } else {
      decision.ended = wait.report.reason;
    }
    observer.OnDecision(decision);
  });
}

// Returns the record of the poll `report.attempts`; the history must not be
// empty. A wait that was resumed has no records of its first polls.
PollRecord& LastRecord(WaitReport& report) {
  std::vector<PollRecord>& ring = report.history;
  return ring[static_cast<size_t>(report.attempts - ring.front().attempt) %
              ring.size()];
}

void AddToHistory(ActiveWait& wait, MonotonicTime now) {
  WaitReport& report = wait.report;
  const WaitState& state = wait.state;
  const Poll<>& found = report.last_poll;
  PollRecord record = {
      .attempt = report.attempts,
      .started = DurationBetween(state.start, state.step_started),
      .took = DurationBetween(state.step_started, now),
      .status = found.status(),
      .detail = std::string(found.detail()),
      .delay = absl::ZeroDuration()};
  // The history is a ring; `Close` puts it in order.
  if (std::ssize(report.history) < wait.policy.options().hooks.history_limit) {
    report.history.push_back(std::move(record));
  } else {
    LastRecord(report) = std::move(record);
  }
}

// Tells the source of the delays how long the operation took. A wait whose
// first poll succeeds is not evidence of delays, nor is one that ended
// otherwise if no poll after its start has found "not ready".
void RecordDuration(const ActiveWait& wait, StopReason reason,
                    MonotonicTime now) {
  const WaitState& state = wait.state;
  const int64_t attempts = wait.report.attempts;
  if (wait.policy.delay_source() == nullptr || attempts == 0) return;
  const bool has_end = reason == StopReason::kSuccess;
  if (state.last_not_ready <= 0 &&
      (!has_end || attempts == state.streak_length)) {
    return;
  }
  // A streak of successes began with the poll that found the first one.
  const MonotonicTime end =
      state.streak_length > 1 ? state.streak_started : now;
  wait.policy.delay_source()->RecordDuration(
      {.after = absl::Seconds(state.last_not_ready),
       .by = has_end ? DurationBetween(state.start, end)
                     : absl::InfiniteDuration()},
      now);
}

absl::Status StatusFor(const ActiveWait& wait, StopReason reason,
                       MonotonicTime answered, MonotonicTime now) {
  if (reason == StopReason::kSuccess) return absl::OkStatus();
  const WaitState& state = wait.state;
  const Poll<>& last = wait.report.last_poll;
  // A caller that ends the wait on purpose needs no text.
  if (state.brief_report &&
      (reason == StopReason::kCancelled || reason == StopReason::kShutDown)) {
    return {absl::StatusCode::kCancelled, ""};
  }
  if (reason == StopReason::kFailed && last.status() != PollStatus::kFailed) {
    return NameWait(
        RetryAfterError(last, wait.policy.options().errors.retry_after),
        ToAbsl(wait.name()), wait.report.attempts, state.start, now);
  }
  return FinalStatus(
      reason,
      {.policy = wait.policy,
       .name = ToAbsl(wait.name()),
       .report = wait.report,
       .start = state.start,
       .deadline = state.deadline,
       .answered = answered,
       .now = now,
       .streak_length = state.streak_length,
       .streak_started = state.streak_started,
       .retry_after = state.final_poll ? std::chrono::nanoseconds::zero()
                                       : RetryAfter(wait),
       .unanswered = state.unanswered});
}

}  // namespace

// Polls.

void RejectUnknownStatus(ActiveWait& wait) {
  Poll<>& found = wait.report.last_poll;
  found = Failed(absl::InternalError(absl::StrCat(
      "the status function returned ", static_cast<int>(found.status()),
      ", which is not a valid PollStatus; return one of its enumerators")));
}

void RecordError(ActiveWait& wait) {
  WaitReport& report = wait.report;
  if (!report.first_error.has_value()) report.first_error = report.last_poll;
  report.last_error = report.last_poll;
}

void RecordDetails(ActiveWait& wait, MonotonicTime now) {
  if (wait.policy.options().hooks.history_limit > 0) AddToHistory(wait, now);
  if (wait.report.last_poll.status() == PollStatus::kNotReady) {
    RecordNotReady(wait.state);
  }
  if (wait.policy.observer() != nullptr) {
    wait.state.poll_announced = false;
    ReportPoll(wait, now, wait.report.last_poll);
  }
}

void ForgetLastPoll(ActiveWait& wait) {
  wait.state.is_resumed = false;
  wait.report.last_poll = wait.report.last_poll.status();
}

// Events.

void ReportStart(ActiveWait& wait) {
  WaitState& state = wait.state;
  const WaitPolicy& policy = wait.policy;
  if (policy.observer() == nullptr || state.id != 0) return;
  state.id = NextWaitId();
  CallHook(policy, [&](WaitObserver& observer) {
    observer.OnStart(
        {.wait = IdentityOf(wait),
         .timeout = policy.status().ok()
                        ? DurationBetween(state.start, state.deadline)
                        : absl::InfiniteDuration(),
         .first_poll_delay = policy.options().polls.first_delay});
  });
}

void ReportBeforePoll(ActiveWait& wait) {
  wait.state.poll_announced = true;
  if (!wait.policy.poll_hooks().before_poll) return;
  CallHook(wait.policy, [&](WaitObserver& observer) {
    observer.BeforePoll(IdentityOf(wait), wait.report.attempts + 1);
  });
}

void ReportDelay(ActiveWait& wait, Delay delay) {
  if (wait.state.is_undecided) {
    ReportDecision(wait, wait.report.last_poll, delay);
  }
}

void ReportSleep(ActiveWait& wait, MonotonicTime now, Delay delay) {
  if (!wait.report.history.empty()) {
    // A rate limiter may add to a delay.
    LastRecord(wait.report).delay += absl::FromChrono(delay.length);
  }
  if (wait.policy.observer() != nullptr &&
      wait.policy.poll_hooks().before_sleep) {
    CallHook(wait.policy, [&](WaitObserver& observer) {
      observer.BeforeSleep({.wait = IdentityOf(wait),
                            .attempt = wait.report.attempts,
                            .elapsed = DurationBetween(wait.state.start, now),
                            .delay = absl::FromChrono(delay.length),
                            .reason = delay.reason});
    });
  }
  SaveCheckpoint(wait, now, SaturatingAdd(now, delay.length));
}

void ReplaceRecordedDelay(ActiveWait& wait, absl::Duration delay) {
  if (!wait.report.history.empty()) LastRecord(wait.report).delay = delay;
}

void SaveCheckpoint(const ActiveWait& wait, MonotonicTime now,
                    MonotonicTime wake_up) {
  const auto& on_checkpoint = wait.policy.options().hooks.on_checkpoint;
  if (on_checkpoint == nullptr) return;
  [&]() noexcept {
    on_checkpoint(SaveWait(wait.state, wait.report, wait.name(), wake_up,
                           {now, wait.policy.clock().TimeNow()}));
  }();
}

// Ends.

NextStep Finish(ActiveWait& wait, StopReason reason, MonotonicTime answered,
                MonotonicTime now) {
  const bool is_answer =
      reason == StopReason::kSuccess || reason == StopReason::kFailed;
  wait.report.late = is_answer && answered > wait.state.deadline;
  if (wait.report.late && wait.policy.options().polls.strict_deadline) {
    reason = StopReason::kDeadline;
  }
  Close(wait, reason, now, StatusFor(wait, reason, answered, now));
  return NextStep::Finish();
}

void Close(ActiveWait& wait, StopReason reason, MonotonicTime now,
           absl::Status status) {
  if (wait.policy.has_budgets()) SettleQuota(wait, reason, now);
  if (wait.policy.keeps_details()) RecordDuration(wait, reason, now);
  CloseReport(wait, reason, now, std::move(status));
}

void CloseReport(ActiveWait& wait, StopReason reason, MonotonicTime now,
                 absl::Status status) {
  const WaitPolicy& policy = wait.policy;
  WaitReport& report = wait.report;
  report.reason = reason;
  report.status = std::move(status);
  report.elapsed = DurationBetween(wait.state.start, now);
  report.slept = absl::FromChrono(wait.state.slept);
  report.longest_poll = absl::FromChrono(wait.state.longest_poll);
  if (!policy.keeps_details()) return;
  if (!report.history.empty()) {
    const auto newest = &LastRecord(report) - report.history.data();
    std::rotate(report.history.begin(), report.history.begin() + newest + 1,
                report.history.end());
  }
  if (policy.observer() == nullptr) return;
  ReportStart(wait);
  if (wait.state.poll_announced) {
    // A poll without an answer.
    const Poll<> found = Failed(report.status);
    ReportPoll(wait, now, found);
    ReportDecision(wait, found, std::nullopt);
  } else if (wait.state.is_undecided) {
    ReportDecision(wait, report.last_poll, std::nullopt);
  }
  CallHook(policy, [&](WaitObserver& observer) {
    observer.OnDone(IdentityOf(wait), report);
  });
}

}  // namespace waiter::internal
