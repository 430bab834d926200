// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What one wait remembers from one step to the next, besides its report. A
// driver that holds very many waits may keep this, or the part of it that their
// policy uses, and put a `WaitLoop` (wait_loop.h) together for each step:
//
//   waiter::WaitLoop loop(policy, report, saved);
//   waiter::NextStep step = loop.OnPoll(now, gen, stop);
//   saved = loop.state();

#ifndef WAITER_LOOP_WAIT_STATE_H_
#define WAITER_LOOP_WAIT_STATE_H_

#include <chrono>
#include <cstdint>

#include "waiter/clock.h"
#include "waiter/loop/backoff.h"
#include "waiter/poll_status.h"
#include "waiter/retry_quota.h"

namespace waiter {

// How far a wait has come on each of its curves.
struct WaitGrowth {
  BackoffProgress not_ready;
  BackoffProgress server_error;
  BackoffProgress throttled;
};

// A value; for `WaitLoop` to write. 88 bytes.
struct WaitState {
  MonotonicTime start = {};
  MonotonicTime deadline = {};

  // When the current poll or sleep began.
  MonotonicTime step_started = {};
  std::chrono::nanoseconds slept = {};
  std::chrono::nanoseconds longest_poll = {};

  // The polls in a row that found the same status: how many, and since when.
  // For success that is the start of the first, for others its end.
  int64_t streak_length = 0;
  MonotonicTime streak_started = {};
  PollStatus streak_status = PollStatus::kNotReady;

  QuotaToken quota_token = {};
  bool poll_is_booked = false;  // The token is for a poll that has not begun.
  bool refused = false;         // By the quota: the sleep ends the wait.
  bool final_poll = false;      // This poll, or the next, is the last.
  bool asleep = false;
  bool unanswered = false;  // It was ended while a poll was under way.

  // The report is to hold `attempts`, `elapsed` and the last poll alone.
  bool brief_report = false;

  WaitGrowth growth = {};
};

}  // namespace waiter

#endif  // WAITER_LOOP_WAIT_STATE_H_
