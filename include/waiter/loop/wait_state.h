// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The memory of one wait between two steps, besides its report. A driver that
// holds very many waits may keep this, or the part of it that their policy
// uses, and make a `WaitLoop` (loop/wait_loop.h) for each step:
//
//   waiter::WaitLoop loop(policy, report, saved);
//   waiter::NextStep step = loop.OnPoll(now, gen, stop_requested);
//   saved = loop.state();
//
// A driver that needs only the attempts and the last poll of a report sets
// `brief_report` before the first step, which saves work:
//
//   waiter::WaitLoop loop(policy, report, {.brief_report = true});

#ifndef WAITER_LOOP_WAIT_STATE_H_
#define WAITER_LOOP_WAIT_STATE_H_

#include <chrono>
#include <cstdint>

#include "waiter/clock.h"
#include "waiter/loop/backoff.h"
#include "waiter/poll_status.h"
#include "waiter/retry_quota.h"

namespace waiter {

// Position of a wait on each of its curves; `{}` restarts them.
struct WaitGrowth {
  BackoffProgress not_ready;
  BackoffProgress server_error;
  BackoffProgress throttled;
};

// A value of 112 bytes. `WaitLoop` writes it; drivers store it and, before the
// first step, may set `brief_report`. Times are on the scale of the wait's
// clock.
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

  // While an observer is told of a poll, the end of that poll.
  MonotonicTime poll_ended = {};

  // The streak: the last consecutive polls that found the same status. A streak
  // of successes starts at the start of its first poll, every other streak at
  // the end of it. Its length is 0 before the first poll.
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

  // For learned delays: the seconds from the start of the wait to the start of
  // the last poll that found "not ready".
  float last_not_ready = 0;

  WaitGrowth growth = {};
};

}  // namespace waiter

#endif  // WAITER_LOOP_WAIT_STATE_H_
