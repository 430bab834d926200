// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The state machine behind every wait. It holds every decision and nothing
// else: no clock, thread, lock or sleep. Whoever writes a driver for an event
// loop of their own needs only this:
//
//   waiter::WaitReport report;
//   waiter::WaitLoop loop(policy, report);
//   waiter::NextStep step = loop.Start(now, policy.DeadlineFrom(now), stop);
//   while (step.action() != waiter::NextStep::Action::kFinish) {
//     if (step.action() == waiter::NextStep::Action::kPoll) {
//       report.last_poll = AskTheStatusFunction();
//       step = loop.OnPoll(now, gen, stop);
//     } else {
//       SleepUntilOrStopped(step.wake_up());
//       step = loop.OnWake(now, stop);
//     }
//   }
//
// with `now` read at each call. docs/design.md has the states.

#ifndef WAITER_LOOP_WAIT_LOOP_H_
#define WAITER_LOOP_WAIT_LOOP_H_

#include <chrono>
#include <concepts>
#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/loop/backoff.h"
#include "waiter/loop/next_step.h"
#include "waiter/loop/wait_state.h"
#include "waiter/observer.h"
#include "waiter/poll_context.h"
#include "waiter/retry_quota.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter {

// One wait. Thread-compatible. `policy` and `report` must outlive it; `report`
// is complete once a call has returned `kFinish`, and no call may follow.
//
// `stop_requested` says whether the wait should end; it is asked after every
// hook and before every poll. `now` must not step back.
class WaitLoop {
 public:
  using StopRequested = absl::FunctionRef<bool()>;

  // `state` is that of an earlier loop of the same wait, if there was one.
  WaitLoop(const WaitPolicy& policy, WaitReport& report,
           const WaitState& state = {})
      : policy_(policy), report_(report), state_(state) {}
  // The same with what `restore` returns, which is built in its place.
  template <std::invocable Restore>
  WaitLoop(const WaitPolicy& policy, WaitReport& report, Restore restore)
      : policy_(policy), report_(report), state_(restore()) {}

  // Begins the wait; `deadline` comes from `WaitPolicy::DeadlineFrom`.
  NextStep Start(MonotonicTime now, MonotonicTime deadline,
                 StopRequested stop_requested);

  // Takes in `report.last_poll`. Draws from `gen` only if a delay is jittered.
  NextStep OnPoll(MonotonicTime now, absl::BitGenRef gen,
                  StopRequested stop_requested);

  // Ends a sleep; to be called at `wake_up()` or when a stop is requested.
  NextStep OnWake(MonotonicTime now, StopRequested stop_requested);

  // Ends the wait from outside: `kCancelled`, `kDeadline` or `kShutDown`.
  // `unanswered` says that a poll is under way.
  NextStep End(MonotonicTime now, StopReason reason, bool unanswered);

  // Returns when the poll that was just asked for ends the wait if it has not
  // answered by then: at the deadline, or, if it begins there, `poll_timeout`
  // later. Only for polls that can be left alone.
  MonotonicTime AnswerDeadline() const;

  // Ends a wait whose status function threw instead of answering.
  void EndWithException(MonotonicTime now, std::string_view what = {});

  // Returns what the status function may want to know about the poll that was
  // just asked for, at `wall_now`. The stop token is the driver's to add.
  PollContext Context(absl::Time wall_now) const;

  // Returns whether the next `OnPoll` needs the exact time. If not,
  // `Clock::MonotonicNowBefore(deadline())` is enough.
  bool NeedsExactTime() const {
    return policy_.NeedsExactTime(
        report_.last_poll, state_.slept > std::chrono::nanoseconds::zero());
  }

  MonotonicTime deadline() const { return state_.deadline; }
  const WaitState& state() const { return state_; }

 private:
  using Nanoseconds = std::chrono::nanoseconds;

  struct Delay {
    Nanoseconds length;
    SleepReason reason;
  };

  // Rules for placing the last poll of a wait.
  struct LastPollRules {
    // The poll begins this long before the deadline.
    Nanoseconds lead;
    // A delay that would leave no more time than this is its last delay.
    Nanoseconds gap;
    // Its delay is at least this, even if that uses up the lead.
    Nanoseconds least_delay;
  };

  // Rows of the table "What happens after a poll", in its order.
  bool Confirmed(MonotonicTime now) const;
  bool ConsecutiveLimitReached(MonotonicTime now) const;
  void RejectUnknownStatus();
  NextStep Continue(MonotonicTime now, absl::BitGenRef& gen);
  NextStep ApplyDelayRule(MonotonicTime now, absl::BitGenRef& gen);
  NextStep DelayPoll(MonotonicTime now, Delay delay, Nanoseconds least_delay);
  Delay BuiltInDelay(MonotonicTime now, Nanoseconds hint, absl::BitGenRef& gen);
  const Backoff& Curve() const;
  Delay ComputeDelay(MonotonicTime now, const Backoff& curve,
                     absl::BitGenRef& gen);
  Nanoseconds Hint() const;
  Delay ApplyHint(Delay computed, Nanoseconds hint, absl::BitGenRef& gen);
  Delay FitToDeadline(MonotonicTime now, Delay delay, LastPollRules rules);
  NextStep SleepOrPoll(MonotonicTime now, Delay delay);
  NextStep Sleep(MonotonicTime now, Delay delay);
  NextStep BeginPoll(MonotonicTime now);

  std::optional<NextStep> BookPoll(MonotonicTime now, Delay& delay,
                                   Nanoseconds& least_delay);
  std::optional<QuotaUse> NextUse() const;
  std::optional<NextStep> PassLimiter(MonotonicTime now);
  void SettleQuota(StopReason reason, MonotonicTime now);

  void Record(MonotonicTime now);
  void RecordError();
  void RecordDetails(MonotonicTime now);
  PollRecord& LastRecord();
  void ReportSleep(MonotonicTime now, Delay delay);
  void WakeUp(MonotonicTime now);

  NextStep Finish(StopReason reason, MonotonicTime now);
  absl::Status StatusFor(StopReason reason, MonotonicTime now);
  void Close(StopReason reason, MonotonicTime now, absl::Status status);

  const WaitPolicy& policy_;
  WaitReport& report_;
  WaitState state_;
};

}  // namespace waiter

#endif  // WAITER_LOOP_WAIT_LOOP_H_
