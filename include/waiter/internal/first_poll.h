// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The short way for a wait that is over at its first poll, as most are. It
// comes to what `WaitLoop` would, without setting one up: a few nanoseconds.

#ifndef WAITER_INTERNAL_FIRST_POLL_H_
#define WAITER_INTERNAL_FIRST_POLL_H_

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/poll_status.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter::internal {

// A first poll that was made, and left what it found in the report.
struct FirstPoll {
  MonotonicTime start = {};
  MonotonicTime end = {};
  MonotonicTime deadline = MonotonicTime::max();
};

// Completes `report` and returns true if `first` found success in time and
// nothing else is to be decided. Otherwise changes nothing: play `Start` and
// `OnPoll` of a loop. Times may be left out if there is no deadline.
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
