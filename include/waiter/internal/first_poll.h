// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A short cut for waits whose first poll succeeds, as most do. It has the same
// outcome as a `WaitLoop` without making one, which costs only a few
// nanoseconds:
//
//   FirstPoll first = {.start = start, .end = end, .deadline = deadline};
//   if (!EndWithFirstPoll(policy, first, report)) {
//     // Make a loop and let it take this poll.
//   }

#ifndef WAITER_INTERNAL_FIRST_POLL_H_
#define WAITER_INTERNAL_FIRST_POLL_H_

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// The times of a first poll whose answer is in the report.
struct FirstPoll {
  MonotonicTime start = {};
  MonotonicTime end = {};
  MonotonicTime deadline = (MonotonicTime::max)();
};

// Completes `report` and returns true if the first poll found success in time
// and nothing else is left to decide. Otherwise returns false and changes
// nothing; `WaitLoop::Start` and `OnPoll` must then follow. `first` may have
// its defaults if there is no deadline.
inline bool EndWithFirstPoll(const WaitPolicy& policy, const FirstPoll& first,
                             WaitReport& report) {
  if (report.last_poll.status() != PollStatus::kSuccess ||
      !policy.first_success_suffices() || first.end > first.deadline) {
    return false;
  }
  report.reason = StopReason::kSuccess;
  report.attempts = report.counts[0] = 1;
  if (first.end > first.start) {
    report.elapsed = report.longest_poll =
        absl::FromChrono(first.end - first.start);
  }
  return true;
}

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_FIRST_POLL_H_
