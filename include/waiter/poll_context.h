// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What a status function may want to know about the poll it makes:
//
//   waiter::Waiter wait([&](const waiter::PollContext& context) {
//     return client.GetStatus({.deadline = context.deadline});
//   }, options);

#ifndef WAITER_POLL_CONTEXT_H_
#define WAITER_POLL_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <stop_token>

#include "absl/time/time.h"
#include "waiter/poll.h"

namespace waiter {

// Times are as of the start of this poll.
struct PollContext {
  // Ordinal of this poll, from 1.
  int64_t attempt = 1;

  // Since the start of the wait.
  absl::Duration elapsed = absl::ZeroDuration();

  // Until the deadline of the wait. Never negative; infinite without one.
  absl::Duration remaining = absl::InfiniteDuration();

  // What this poll may take: `WaitOptions::poll_timeout`, or `remaining` if
  // that is shorter. With nothing remaining, as for the last poll at the
  // deadline, whose late success still counts, it is `poll_timeout` alone.
  absl::Duration timeout = absl::InfiniteDuration();

  // The same on the wall clock, for calls that take a deadline. A call of yours
  // that runs out of time is a server error, `ServerError(status)`, if it may
  // work the next time: `FromStatus` takes its kDeadlineExceeded for a failure.
  absl::Time deadline = absl::InfiniteFuture();

  // The token that was given to the wait. A poll that it cuts short answers
  // anything but success or failure; the wait then ends as cancelled.
  std::stop_token stop_token = {};

  // What the poll before this one found.
  std::optional<PollStatus> last_status = std::nullopt;
};

}  // namespace waiter

#endif  // WAITER_POLL_CONTEXT_H_
