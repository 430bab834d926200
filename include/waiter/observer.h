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
//                        .observer = std::make_shared<Progress>()});
//
// One observer may watch all waits of a program, here to count how they end:
//
//   class Outcomes : public waiter::WaitObserver {
//     void OnDone(std::string_view name,
//                 const waiter::WaitReport& report) override {
//       const absl::MutexLock lock(&mutex_);
//       ++counts_[report.reason];
//     }
//     ...
//   };

#ifndef WAITER_OBSERVER_H_
#define WAITER_OBSERVER_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/wait_report.h"

namespace waiter {

// The rule that decided the length of a sleep.
enum class SleepReason : uint8_t {
  kFirstPollDelay,  // `WaitOptions::first_poll_delay`.
  kNotReady,        // The curve of this status, as for the next two.
  kServerError,
  kThrottled,
  kRetryAfter,  // The server's hint.
  kDelayRule,   // `WaitOptions::delay_rule`.
  kRetryQuota,  // `WaitOptions::retry_quota` had to be refilled.
  kRateLimit,   // `WaitOptions::rate_limiter`.
  kConfirming,  // A success that must hold.
  kFinalPoll,   // The last poll was moved to the deadline.
};

// Returns "not ready", "retry after", and so on.
std::string_view SleepReasonName(SleepReason reason);

// A poll that is over. References and views in events are valid until the hook
// returns.
struct PollEvent {
  std::string_view name;   // Name from the options or from `Start`.
  int64_t attempt;         // Ordinal of the poll, from 1.
  absl::Duration elapsed;  // From the start of the wait to the poll's end.
  absl::Duration took;     // From the poll's start to its end.
  const Poll<>& found;     // The answer, without its value.
  // False if the poll has no answer: the status function threw, or the wait
  // ended first. `found` is then `kFailed` with the status of the wait's end.
  bool answered = true;
};

// A sleep that is about to begin.
struct SleepEvent {
  std::string_view name;   // Name from the options or from `Start`.
  int64_t attempt;         // Ordinal of the poll before; 0 before the first.
  absl::Duration elapsed;  // From the start of the wait to the sleep's start.
  absl::Duration delay;    // The exact length; a stop request may cut it short.
  SleepReason reason;
};

// Hooks run on the thread that drives the wait: that of `Wait`, or that of the
// engine. For each wait they run one at a time and under no lock; an observer
// that waits on several threads share must be thread-safe.
//
// The wait shares ownership of its observer. On an engine, `AfterPoll` and
// `OnDone` may still come shortly after the handle of the wait was destroyed,
// and no other hook; so an observer must not refer to objects that go with the
// handle.
//
// The time that hooks take counts as the wait's. Hooks may request a stop,
// which ends the wait before its next poll, or, in `BeforePoll`, after this
// poll; on an executor, whose polls begin later, before it. They may destroy
// the handle of the wait. An exception that leaves a hook terminates the
// program.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;

  // Called before every poll; `attempt` counts from 1. `AfterPoll` follows for
  // each.
  virtual void BeforePoll(std::string_view /*name*/, int64_t /*attempt*/) {}

  // Called after every poll, also one that ends the wait, throws or never
  // answers.
  virtual void AfterPoll(const PollEvent& /*poll*/) {}

  // Called before every sleep. Not called when the next poll follows at once;
  // called again if a rate limiter lengthens a sleep.
  virtual void BeforeSleep(const SleepEvent& /*sleep*/) {}

  // Called exactly once for every wait and after all other hooks, whatever
  // ended it. That includes invalid options, a wait whose handle was destroyed
  // (`kCancelled`), and a status function that threw (`kFailed`, kUnknown).
  virtual void OnDone(std::string_view /*name*/, const WaitReport& /*report*/) {
  }
};

}  // namespace waiter

#endif  // WAITER_OBSERVER_H_
