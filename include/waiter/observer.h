// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Hooks into a wait, for logs, metrics and progress:
//
//   class Progress : public waiter::WaitObserver {
//     void AfterPoll(const waiter::PollEvent& poll) override {
//       std::cout << poll.attempt << ": " << poll.found.detail() << "\n";
//     }
//   };
//
//   waiter::Waiter wait(GetStatus,
//                       {.timeout = absl::Minutes(5),
//                        .hooks = {.observer = std::make_shared<Progress>()}});
//
// One observer may watch all waits of a program, here to count how they end:
//
//   class Outcomes : public waiter::WaitObserver {
//     void OnDone(const waiter::WaitIdentity& wait,
//                 const waiter::WaitReport& report) override {
//       const absl::MutexLock lock(&mutex_);
//       ++counts_[{std::string(wait.operation), report.reason}];
//     }
//     ...
//   };
//   waiter::ObserveEveryWait(std::make_shared<Outcomes>());
//
// telemetry/ provides observers that write logs and metrics.

#ifndef WAITER_OBSERVER_H_
#define WAITER_OBSERVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

// The rule that decided the length of a sleep.
enum class SleepReason : uint8_t {
  kFirstPollDelay,  // `EdgePollOptions::first_delay`.
  kNotReady,        // The backoff of this status.
  kServerError,     // The backoff of this status.
  kThrottled,       // The backoff of this status.
  kRetryAfter,      // The server's `retry_after`.
  kDelaySource,     // `WaitOptions::delay_source`, instead of all delays.
  kRetryQuota,      // `BudgetOptions::retry_quota` had to be refilled.
  kRateLimit,       // `BudgetOptions::rate_limiter`.
  kConfirming,      // A success that must hold.
  kFinalPoll,       // The last poll was moved to the deadline.
  kResumed,         // The rest of the sleep of a saved wait.
  kLearned,         // `WaitOptions::delay_source`, instead of `backoff`.
  kAnswer,          // `TryAgainAfter`, an answer of the status function.
};

// Returns "not ready", "retry after", and so on.
std::string_view SleepReasonName(SleepReason reason);

// Identity of a wait. Views and references in events are valid until the hook
// returns.
struct WaitIdentity {
  uint64_t id;                 // Unique in the process; never 0.
  std::string_view name;       // From the options or from `Start`.
  std::string_view operation;  // `WaitOptions::operation`; may be empty.
};

// A wait that begins.
struct StartEvent {
  WaitIdentity wait;
  // Time until the deadline. Infinite if the wait has no deadline, if the
  // options are invalid, or if the handle was destroyed before the wait began.
  absl::Duration timeout;
  absl::Duration first_poll_delay;  // As in the options.
};

// A poll that is over.
struct PollEvent {
  WaitIdentity wait;
  int64_t attempt;         // Ordinal of the poll, from 1.
  absl::Duration elapsed;  // From the start of the wait to the poll's end.
  absl::Duration took;     // From the poll's start to its end.
  const Poll<>& found;     // The answer, without its value.
  // False if the poll has no answer: the status function threw, or the wait
  // ended first. `found` is then `kFailed` with the status of the wait's end.
  bool answered = true;
};

// The decision after a poll: another poll after `delay`, or the end. Exactly
// one of `reason` and `ended` is set.
struct DecisionEvent {
  const PollEvent& poll;
  absl::Duration delay;               // Zero: now, or the wait has ended.
  std::optional<SleepReason> reason;  // The rule that decided the delay.
  std::optional<StopReason> ended;
};

// A sleep that is about to begin.
struct SleepEvent {
  WaitIdentity wait;
  int64_t attempt;         // Ordinal of the previous poll; 0 if none.
  absl::Duration elapsed;  // From the start of the wait to the sleep's start.
  // The exact length. A stop request or a notification may cut it short.
  absl::Duration delay;
  SleepReason reason;
};

// For every wait, the hooks are called in this order:
//
//   OnStart
//   BeforeSleep           if there is a first delay
//   BeforePoll, AfterPoll, OnDecision, then BeforeSleep if a sleep follows
//   ...                   the same for each poll
//   OnDone
//
// They run on the thread that drives the wait: the caller of `Wait`, or the
// engine's thread. For each wait they run one at a time, with no lock held. An
// observer of waits on several threads must be thread-safe.
//
// The wait shares ownership of its observer. On an engine, the last hooks may
// still run shortly after the handle of the wait was destroyed: the hooks of
// its end, and `OnStart` before them if the wait had not begun. So an observer
// must not refer to objects that are destroyed with the handle.
//
// The time that hooks take counts toward the wait. Hooks may start waits, and
// destroy the handle of their wait. They may request a stop, which ends the
// wait before its next poll. In `BeforePoll`, and in `OnDecision` if no delay
// follows, the request ends the wait only after the poll that follows, except
// on an executor, whose polls begin later. An exception that leaves a hook
// terminates the program.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;

  // Called exactly once for every wait, before all other hooks, even if the
  // wait ends before its first poll.
  virtual void OnStart(const StartEvent& /*start*/) {}

  // Called before every poll; `attempt` counts from 1.
  virtual void BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) {}

  // Called after every poll, even if the poll ends the wait, throws or never
  // answers.
  virtual void AfterPoll(const PollEvent& /*poll*/) {}

  // Called after every poll and its `AfterPoll`, with the decision about the
  // next step.
  virtual void OnDecision(const DecisionEvent& /*decision*/) {}

  // Called before every sleep. Not called when the next poll follows
  // immediately; called again if a rate limiter lengthens a sleep.
  virtual void BeforeSleep(const SleepEvent& /*sleep*/) {}

  // Called exactly once for every wait, after all other hooks. That includes
  // invalid options, a wait whose handle was destroyed (`kCancelled`), and a
  // status function that threw (`kFailed`, kUnknown).
  virtual void OnDone(const WaitIdentity& /*wait*/,
                      const WaitReport& /*report*/) {}

  // Hooks that are called for every poll. A wait skips disabled hooks, which
  // makes it cheaper. Read once, when the wait's policy or `Waiter` is made.
  struct PollHooks {
    bool before_poll = true;
    bool after_poll = true;
    bool on_decision = true;
    bool before_sleep = true;
  };
  virtual PollHooks poll_hooks() const { return {}; }
};

// Combines several observers: calls each hook of the first, then of the second,
// and so on. Skips null pointers. Thread-safe if its observers are.
class ObserverList : public WaitObserver {
 public:
  explicit ObserverList(std::vector<std::shared_ptr<WaitObserver>> observers);

  void OnStart(const StartEvent& start) override;
  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override;
  void AfterPoll(const PollEvent& poll) override;
  void OnDecision(const DecisionEvent& decision) override;
  void BeforeSleep(const SleepEvent& sleep) override;
  void OnDone(const WaitIdentity& wait, const WaitReport& report) override;
  PollHooks poll_hooks() const override;

 private:
  struct Member {
    std::shared_ptr<WaitObserver> observer;
    PollHooks hooks;
  };
  std::vector<Member> members_;
};

// Makes `observer` watch every wait of the program whose `WaitPolicy` or
// `Waiter` is made after this call, so call it at the beginning of `main`. Its
// hooks run before the hooks of the observer in the options of a wait. Replaces
// the observer of an earlier call, except for waits that have it already. Null:
// later waits have only their own observers. Thread-safe.
void ObserveEveryWait(std::shared_ptr<WaitObserver> observer);

namespace internal {

// Returns an observer for the options of waits that the library makes for
// itself. No observer watches such a wait, not even `ObserveEveryWait`'s.
std::shared_ptr<WaitObserver> Nobody();

// Returns the observer of a wait with `own` in its options: `own`,
// `ObserveEveryWait`'s, both, or null.
std::shared_ptr<WaitObserver> ObserverOfWait(std::shared_ptr<WaitObserver> own);

}  // namespace internal

}  // namespace waiter

#endif  // WAITER_OBSERVER_H_
