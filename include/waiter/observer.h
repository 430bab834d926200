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
//   Progress progress;
//   waiter::Waiter wait(Ask, {.timeout = absl::Minutes(5),
//                             .observer = &progress});

#ifndef WAITER_OBSERVER_H_
#define WAITER_OBSERVER_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/wait_report.h"

namespace waiter {

// What decided the length of a sleep.
enum class SleepReason : uint8_t {
  kFirstPollDelay,  // `WaitOptions::first_poll_delay`.
  kNotReady,        // The curve of this status.
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

// A poll that has just finished.
struct PollEvent {
  std::string_view name;  // `WaitOptions::name`.
  int64_t attempt;
  absl::Duration elapsed;  // From the start of the wait to the poll's end.
  absl::Duration took;
  const Poll<>& found;
};

// A sleep that is about to begin.
struct SleepEvent {
  std::string_view name;
  int64_t attempt;         // Of the poll before it; 0 before the first.
  absl::Duration elapsed;  // From the start of the wait to the sleep's start.
  absl::Duration delay;
  SleepReason reason;
};

// Hooks run on the thread that drives the wait, under no lock, one at a time
// for each wait; a hook shared by waits on several threads must be thread-safe.
// Their time counts as the wait's. They may request a stop, which then ends the
// wait before its next poll (in `BeforePoll`: after this one), and must not
// throw. A poll without a delay has no `BeforeSleep` before it.
class WaitObserver {
 public:
  virtual ~WaitObserver() = default;

  virtual void BeforePoll(std::string_view /*name*/, int64_t /*attempt*/) {}

  // Called for every poll, also one that succeeds.
  virtual void AfterPoll(const PollEvent& /*poll*/) {}

  virtual void BeforeSleep(const SleepEvent& /*sleep*/) {}

  // Called exactly once for every wait, last, whatever ended it: also invalid
  // options, and a status function that threw (reason `kFailed`, kUnknown).
  virtual void OnDone(std::string_view /*name*/, const WaitReport& /*report*/) {
  }
};

}  // namespace waiter

#endif  // WAITER_OBSERVER_H_
