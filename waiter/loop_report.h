// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The records of a wait: its report with the history, the events of its
// observer, its checkpoints, and its end.
//
// Functions that say "for details" are needed only if
// `WaitPolicy::keeps_details()`.

#ifndef WAITER_LOOP_REPORT_H_
#define WAITER_LOOP_REPORT_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/delay.h"
#include "waiter/loop.h"
#include "waiter/loop_budgets.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// Polls.

void RejectUnknownStatus(ActiveWait& wait);
void RecordError(ActiveWait& wait);

// For the durations that a source records: keeps the start of the last poll
// that found "not ready".
inline void RecordNotReady(WaitState& state) {
  // A float has as many digits as they need.
  state.last_not_ready =
      std::chrono::duration<float>(state.step_started - state.start).count();
}

// For details: adds the poll to the history, and calls `AfterPoll`.
void RecordDetails(ActiveWait& wait, MonotonicTime now);

// Adds the poll that ended at `now` to the streak, the report and the rate
// limiter. `plain` is explained in decide.h.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void RecordPoll(ActiveWait& wait,
                                                    MonotonicTime now,
                                                    bool plain) {
  WaitReport& report = wait.report;
  WaitState& state = wait.state;
  if (!plain && report.last_poll.status() > PollStatus::kFailed) {
    RejectUnknownStatus(wait);
  }
  const PollStatus status = report.last_poll.status();
  ++report.attempts;
  if (state.streak_length == 0 || state.streak_status != status) {
    state.streak_status = status;
    state.streak_length = 0;
    state.streak_started =
        status == PollStatus::kSuccess ? state.step_started : now;
  }
  ++state.streak_length;
  if (!state.brief_report) {
    ++report.counts[static_cast<size_t>(status)];
    state.longest_poll = std::max(state.longest_poll, now - state.step_started);
    if (!plain && status >= PollStatus::kThrottled) RecordError(wait);
  }
  if (plain) return;
  if (wait.policy.has_budgets()) UpdateLimiter(wait, now);
  if (wait.policy.keeps_details()) RecordDetails(wait, now);
}

// Leaves only the status of a poll that another process made: the functions of
// a driver may set no more than that.
void ForgetLastPoll(ActiveWait& wait);

// Events, for details. Each does nothing that the observer does not need.

// Calls `OnStart`, once.
void ReportStart(ActiveWait& wait);

// Calls `BeforePoll`. Requires an observer.
void ReportBeforePoll(ActiveWait& wait);

// Calls `OnDecision` with the delay after the last poll, if it has not been
// called for that.
void ReportDelay(ActiveWait& wait, Delay delay);

// Calls `BeforeSleep` and `on_checkpoint`.
void ReportSleep(ActiveWait& wait, MonotonicTime now, Delay delay);

// Sets the delay in the record of the last poll, if there is a history.
void ReplaceRecordedDelay(ActiveWait& wait, absl::Duration delay);

// Calls `on_checkpoint` with the wait as it is during a sleep.
void SaveCheckpoint(const ActiveWait& wait, MonotonicTime now,
                    MonotonicTime wake_up);

// Ends.

// Ends a wait at `now`. If its last answer ends it, that came at `answered`.
NextStep Finish(ActiveWait& wait, StopReason reason, MonotonicTime answered,
                MonotonicTime now);
inline NextStep Finish(ActiveWait& wait, StopReason reason, MonotonicTime now) {
  return Finish(wait, reason, now, now);
}

// Ends a wait with this status, and completes the report.
void Close(ActiveWait& wait, StopReason reason, MonotonicTime now,
           absl::Status status);

// The part of `Close` that settles neither budgets nor learned delays.
void CloseReport(ActiveWait& wait, StopReason reason, MonotonicTime now,
                 absl::Status status);

}  // namespace waiter::internal

#endif  // WAITER_LOOP_REPORT_H_
