// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The words in which a wait ends. One shape for every limit: name, limit,
// attempts, time, and what the last poll found.

#ifndef WAITER_LOOP_FINAL_STATUS_H_
#define WAITER_LOOP_FINAL_STATUS_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter::internal {

// Where a wait stands when it ends.
struct FinalState {
  const WaitPolicy& policy;
  const WaitReport& report;  // Up to the last poll.
  MonotonicTime start;
  MonotonicTime deadline;
  MonotonicTime now;
  // The polls in a row that found the status of the last.
  int64_t streak_length;
  MonotonicTime streak_started;
  // The server's hint after the last poll, or zero.
  std::chrono::nanoseconds hint;
  // The wait was ended while a poll had not answered.
  bool unanswered;
};

// Returns the status of a wait that ends for `reason`, which is not success.
absl::Status FinalStatus(StopReason reason, const FinalState& state);

}  // namespace waiter::internal

#endif  // WAITER_LOOP_FINAL_STATUS_H_
