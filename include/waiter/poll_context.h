// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Facts about the current poll, for status functions that take a `const
// PollContext&`. Waiter cannot interrupt a poll that hangs, so hand the
// deadline of the poll to the call that it makes:
//
//   waiter::Waiter wait([&](const waiter::PollContext& context) {
//     return client.GetStatus({.deadline = context.deadline});
//   }, options);
//
// A long poll looks at the stop token as well:
//
//   [&](const waiter::PollContext& context) -> waiter::Poll<> {
//     for (const Part& part : parts) {
//       if (context.stop_token.stop_requested()) return waiter::NotReady();
//       if (!Verify(part)) return waiter::NotReady(part.name);
//     }
//     return waiter::Success();
//   }

#ifndef WAITER_POLL_CONTEXT_H_
#define WAITER_POLL_CONTEXT_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/stop_token.h"

namespace waiter {

// A status function gets a reference that is valid only during the call; code
// that continues after the call must copy the fields it needs. Times are
// measured at the start of the poll, with the clock of the wait. A wait whose
// function takes a context reads the wall clock once for each poll.
struct PollContext {
  // Ordinal of this poll, counted from 1.
  int64_t attempt = 1;

  // Time since the start of the wait.
  absl::Duration elapsed = absl::ZeroDuration();

  // Time until the deadline of the wait. Never negative; infinite if the wait
  // has no deadline.
  absl::Duration remaining = absl::InfiniteDuration();

  // Time that this poll may take: the shorter of `WaitOptions::poll_timeout`
  // and `remaining`, which `WaitOptions::final_poll_timeout` may lengthen. When
  // nothing remains, as for the last poll at the deadline, it is
  // `final_poll_timeout`, or, if that is zero, `poll_timeout`, or, if that is
  // infinite, twice the longest poll so far, at least 1 s and at most 10 s: a
  // late success of that poll still counts. Finite unless the wait has no
  // deadline. May be below 1 ms: round it up for a client that takes whole
  // milliseconds, zero for no limit.
  absl::Duration timeout = absl::InfiniteDuration();

  // End of `timeout` on the wall clock, for calls that take a deadline. If a
  // call runs out of time but may work the next time, answer
  // `ServerError(status)`; `FromStatus` would turn its kDeadlineExceeded into a
  // failure.
  absl::Time deadline = absl::InfiniteFuture();

  // Requested when the wait is cancelled, when its handle or its engine is
  // destroyed, and when an engine gives up waiting for the answer. A poll that
  // stops early because of it should answer anything except success and
  // failure; the wait then ends as cancelled, or as shut down.
  waiter::stop_token stop_token = {};

  // `WaitIdentity::id` of the wait, as observers get it; 0 without an observer.
  uint64_t wait_id = 0;

  // Status that the previous poll found; unset for the first one.
  std::optional<PollStatus> last_status = std::nullopt;
};

}  // namespace waiter

#endif  // WAITER_POLL_CONTEXT_H_
