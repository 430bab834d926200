// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The state machine behind every wait. It makes every decision, but has no
// clock, thread, lock or sleep. `Waiter` and `WaitEngine` drive it. A driver
// that blocks is
//
//   waiter::WaitReport report;
//   waiter::WaitLoop loop(policy, report);
//   waiter::NextStep step = loop.Start(now, policy.DeadlineFrom(now), stop);
//   while (step.action() != waiter::NextStep::Action::kFinish) {
//     if (step.action() == waiter::NextStep::Action::kPoll) {
//       report.last_poll = GetStatus();
//       step = loop.OnPoll(now, gen, stop);
//     } else {
//       SleepUntilOrStopped(step.wake_up());
//       step = loop.OnWake(now, stop);
//     }
//   }
//
// where `now` is read from `policy.clock()` before each call, `stop` returns
// whether a stop was requested, and `policy` is a `WaitPolicy` (policy.h).
// An event loop has no `while`: it carries out one step, and calls the
// `WaitLoop` again when the poll has answered or the timer has fired. To stop
// early, it cancels the timer and calls `End` with the reason `kCancelled`.
//
// A driver of very many waits stores a `WaitState` for each, not a `WaitLoop`.
// `SaveWait` and `RestoreWait` move a wait to another process. docs/design.md
// has the table of decisions and the states.

#ifndef WAITER_LOOP_H_
#define WAITER_LOOP_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter {

// The instruction that a `WaitLoop` gives to a driver, which carries it out and
// calls the loop again:
//
//   switch (step.action()) {
//     case waiter::NextStep::Action::kPoll:
//       report.last_poll = GetStatus();
//       step = loop.OnPoll(clock.MonotonicNow(), gen, stop_requested);
//       break;
//     case waiter::NextStep::Action::kSleep:
//       clock.SleepUntil(step.wake_up(), stop_token, "my driver");
//       step = loop.OnWake(clock.MonotonicNow(), stop_requested);
//       break;
//     case waiter::NextStep::Action::kFinish:
//       return report;
//   }
//
// A value of 16 bytes. Drivers read it; only the loop and tests make one.
class NextStep {
 public:
  enum class Action : uint8_t {
    kPoll,    // Call the status function, then `WaitLoop::OnPoll`.
    kSleep,   // Sleep until `wake_up()`, then call `WaitLoop::OnWake`.
    kFinish,  // The report is complete; do not call the loop again.
  };

  static constexpr NextStep Poll() { return {Action::kPoll, {}}; }
  static constexpr NextStep SleepUntil(MonotonicTime time) {
    return {Action::kSleep, time};
  }
  static constexpr NextStep Finish() { return {Action::kFinish, {}}; }

  Action action() const { return action_; }

  // Returns the end of a sleep, which a request to stop may cut short.
  // `MonotonicTime::max()` means that only such a request ends it. Meaningful
  // for `kSleep` only.
  MonotonicTime wake_up() const { return wake_up_; }

 private:
  constexpr NextStep(Action action, MonotonicTime wake_up)
      : wake_up_(wake_up), action_(action) {}

  MonotonicTime wake_up_;
  Action action_;
};

// Position of a wait in each of its backoffs; `{}` restarts them.
struct WaitGrowth {
  BackoffProgress not_ready;
  BackoffProgress server_error;
  BackoffProgress throttled;
};

// The state of one wait between two steps, except its report. A driver that
// holds very many waits may keep this, or the part of it that their policy
// uses, and make a `WaitLoop` for each step:
//
//   waiter::WaitLoop loop(policy, report, saved);
//   waiter::NextStep step = loop.OnPoll(now, gen, stop_requested);
//   saved = loop.state();
//
// A driver that needs only the attempts and the last poll of a report sets
// `brief_report` before the first step, which saves work:
//
//   waiter::WaitLoop loop(policy, report, {.brief_report = true});
//
// A value of 112 bytes. `WaitLoop` writes it. Times are on the scale of the
// wait's clock.
struct WaitState {
  // Start of the wait, and its deadline, `max()` if it has none.
  MonotonicTime start = {};
  MonotonicTime deadline = {};

  // Start of the current poll or sleep.
  MonotonicTime step_started = {};

  // Sum of all finished sleeps, and the longest poll.
  std::chrono::nanoseconds slept = {};
  std::chrono::nanoseconds longest_poll = {};

  // Identity of the wait for its observer; 0 until the wait is announced.
  uint64_t id = 0;

  // End of the last poll, while the hooks of an observer run.
  MonotonicTime poll_ended = {};

  // The streak: the last consecutive polls that found the same status. A streak
  // of successes starts when its first poll starts, any other when that poll
  // ends. Its length is 0 before the first poll.
  int64_t streak_length = 0;
  MonotonicTime streak_started = {};

  PollStatus streak_status = PollStatus::kNotReady;

  // Tokens that the wait took from its `RetryQuota`.
  QuotaToken quota_token = {};
  bool poll_is_booked = false;  // The token is for the poll to come.
  bool refused = false;         // The quota refused; this sleep ends the wait.
  bool final_poll = false;      // The current or next poll is the last one.
  bool asleep = false;          // The current step is a sleep.
  bool sleep_is_fixed = false;  // No notification cuts it short.

  // Configuration: the report holds only `attempts`, `elapsed`, `late`, the
  // last poll, and the reason and status of the end. The status has no text if
  // the wait is cancelled or shut down.
  bool brief_report = false;

  // Rarely written, so they share a byte.
  bool unanswered : 1 = false;      // The wait was ended during a poll.
  bool poll_announced : 1 = false;  // `BeforePoll` was called for this poll.
  bool is_undecided : 1 = false;    // `OnDecision` must follow `AfterPoll`.
  bool hold_is_open : 1 = false;    // At the last success, before hooks.
  bool is_resumed : 1 = false;      // The last poll was another process's.

  // For the durations that a source records: the seconds from the start of the
  // wait to the start of the last poll that found "not ready".
  float last_not_ready = 0;

  WaitGrowth growth = {};
};

// One moment on both scales of a clock. The wall clock may belong to a store
// that several machines share.
struct ClockReading {
  MonotonicTime monotonic;
  absl::Time wall;
};

// A wait that can be resumed, with its times on the scale of this process.
struct SavedWait {
  WaitState state;
  WaitReport report;
  MonotonicTime wake_up;  // The end of the sleep, if `state.asleep`.
  std::string name;       // Cut as in the token.
};

// Returns the token (token.h) of a wait that has not ended. `wake_up` is the
// end of the wait's sleep, if any. Allocates the token and nothing else; about
// 200 ns.
//
//   // During a sleep until `wake_up`, or when a poll is about to begin:
//   waiter::WaitToken token =
//       waiter::SaveWait(loop.state(), report, loop.name(), wake_up,
//                        {clock.MonotonicNow(), clock.TimeNow()});
WaitToken SaveWait(const WaitState& state, const WaitReport& report,
                   std::string_view name, MonotonicTime wake_up,
                   const ClockReading& now);

// Returns the wait of a token that is not empty, moved to the time `now`. Times
// before the wait was restored may be negative on the scale of `now.monotonic`.
//
//   // Instead of `WaitLoop::Start`, in another process:
//   waiter::SavedWait saved = waiter::RestoreWait(
//       token, {clock.MonotonicNow(), clock.TimeNow()});
//   waiter::NextStep step = loop.Resume(now, std::move(saved), stop);
SavedWait RestoreWait(const WaitToken& token, const ClockReading& now);

namespace internal {

// Returns the same token for a wall clock that is `shift` ahead. `token` must
// not be empty. About 100 ns.
WaitToken ShiftWallClock(const WaitToken& token,
                         std::chrono::nanoseconds shift);

// Returns the part of a wait's name that tokens have.
std::string_view NameInToken(std::string_view name);

class LoopSteps;

// The wait that a loop decides about. The decisions are functions of it.
struct ActiveWait {
  std::string_view name() const {
    return given_name.data() == nullptr ? policy.options().name : given_name;
  }

  const WaitPolicy& policy;
  WaitReport& report;
  std::string_view given_name;
  WaitState state;
};

}  // namespace internal

// One wait. Thread-compatible. `policy` and `report` must outlive it. When a
// call has returned `kFinish`, `report` is complete, and no call may follow.
//
// `now` must not step back from call to call. `stop_requested` returns whether
// the wait should end; the loop calls it at the start, after each answer and
// after each sleep. Hooks and the delay source of the options run inside the
// calls below. No call blocks, and memory does not grow with the number of
// polls, except for a history.
class WaitLoop {
 public:
  using StopRequested = absl::FunctionRef<bool()>;
  using ReadTime = absl::FunctionRef<MonotonicTime()>;

  // Makes the loop of a new wait, or continues a wait with the `state` and the
  // `report` of an earlier loop.
  WaitLoop(const WaitPolicy& policy, WaitReport& report,
           const WaitState& state = {})
      : wait_{policy, report, {}, state} {}

  // Takes the state from `restore`, without copying it.
  template <std::invocable Restore>
  WaitLoop(const WaitPolicy& policy, WaitReport& report, Restore restore)
      : wait_{policy, report, {}, restore()} {}

  // Begins the wait. Call it once, with the `deadline` from
  // `WaitPolicy::DeadlineFrom(now)`. Returns `kFinish` if the policy is
  // invalid.
  NextStep Start(MonotonicTime now, MonotonicTime deadline,
                 StopRequested stop_requested);

  // Instead of `Start`: resumes a saved wait at the end of its sleep, or
  // immediately if its sleep is over. Ends with `kInvalidOptions` if the saved
  // wait has a different name.
  NextStep Resume(MonotonicTime now, SavedWait saved,
                  StopRequested stop_requested);

  // Takes the answer of a poll from `report.last_poll`; `now` is the poll's
  // end. Draws from `gen` only if a delay is jittered. `*read_time` returns the
  // time after the hooks of an observer, or, well before the deadline, an
  // earlier time. If null, hooks count as taking no time.
  NextStep OnPoll(MonotonicTime now, absl::BitGenRef gen,
                  StopRequested stop_requested,
                  const ReadTime* read_time = nullptr);

  // Ends a sleep. Call it at `wake_up()` or later, or earlier when a stop is
  // requested. Without a request the next step is a poll, however early or late
  // the call is, unless the retry quota had refused that poll or the rate
  // limiter lengthens the sleep.
  NextStep OnWake(MonotonicTime now, StopRequested stop_requested);

  // Requests a poll during a sleep. The delays start over. Returns the step
  // that replaces the sleep: a poll, or a shorter sleep that keeps `min_delay`
  // and the server's `retry_after`. Returns nullopt if the sleep continues,
  // because a quota, a limiter or `retry_after` decided it or because it
  // confirms a success.
  std::optional<NextStep> OnNotified(MonotonicTime now,
                                     StopRequested stop_requested);

  // Ends the wait from outside, with the reason `kCancelled`, `kDeadline` or
  // `kShutDown`. `unanswered` says whether a poll is in progress; drop its
  // answer.
  NextStep End(MonotonicTime now, StopReason reason, bool unanswered);

  // Ends a wait whose state the driver has saved, for another loop to resume.
  // Tells the observer, as `End` with `kCancelled` does, but neither the
  // budgets nor the learned delays: the payment for the next poll is in the
  // state.
  void EndSuspended(MonotonicTime now, bool unanswered);

  // Returns the time at which a driver should call `End(now, kDeadline, true)`
  // if the current asynchronous poll has no answer: the deadline, or, for a
  // poll that began at or near it, the end of `PollContext::timeout`.
  MonotonicTime AnswerDeadline() const;

  // Ends a wait whose status function threw. The driver delivers the exception.
  // `what` becomes part of the report's status.
  void EndWithException(MonotonicTime now, std::string_view what = {});

  // Ends a wait whose poll could not be made, with the reason `kFailed`.
  void EndWithError(MonotonicTime now, absl::Status error);

  // Returns the context of the poll that is about to begin. `wall_now` is the
  // wall-clock time. The driver adds the stop token.
  PollContext Context(absl::Time wall_now) const;

  // Returns whether the next `OnPoll` needs the exact time. If not, the cheaper
  // `Clock::MonotonicNowBefore(deadline())` is enough.
  bool NeedsExactTime() const {
    return wait_.policy.NeedsExactTime(
        wait_.report.last_poll,
        wait_.state.slept > std::chrono::nanoseconds::zero());
  }

  // Returns whether a sleep of `delay` after a poll must not be shorter by the
  // age of a cheap reading of the clock, because of the server's `retry_after`
  // or because `min_delay` is near.
  bool NeedsExactDelay(std::chrono::nanoseconds delay) const {
    return delay < wait_.policy.BackoffAfter(wait_.state.streak_status)
                           .min_delay() +
                       Clock::kMaxReadingAge ||
           wait_.report.last_poll.retry_after() > absl::ZeroDuration();
  }

  // Name of this wait in messages and hooks: the one that was set, whose text
  // must stay valid, or else its policy's.
  std::string_view name() const { return wait_.name(); }
  void set_name(std::string_view name) { wait_.given_name = name; }

  MonotonicTime deadline() const { return wait_.state.deadline; }
  const WaitState& state() const { return wait_.state; }

 private:
  friend class internal::LoopSteps;

  NextStep RefuseToResume(MonotonicTime now, const SavedWait& saved);

  internal::ActiveWait wait_;
};

}  // namespace waiter

#endif  // WAITER_LOOP_H_
