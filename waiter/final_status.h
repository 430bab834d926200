// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The final status of a wait. Its message has one shape for every limit: name,
// limit, attempts, time, and the last poll's answer. A failure begins with the
// user's own message; name, attempts and time follow it.

#ifndef WAITER_FINAL_STATUS_H_
#define WAITER_FINAL_STATUS_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// State of a wait at its end.
struct FinalState {
  const WaitPolicy& policy;
  absl::string_view name;
  const WaitReport& report;  // Complete up to the last poll.
  MonotonicTime start;
  MonotonicTime deadline;
  MonotonicTime answered;  // Time of the answer that ends the wait, or `now`.
  MonotonicTime now;
  // Number of polls in a row that found the status of the last one.
  int64_t streak_length;
  MonotonicTime streak_started;
  // The server's `retry_after` of the last poll; zero if it decides nothing.
  std::chrono::nanoseconds retry_after;
  // True if the wait was ended before a poll in progress had answered.
  bool unanswered;
};

// Returns the status of a wait that ends for `reason`.
absl::Status FinalStatus(StopReason reason, const FinalState& state);

// Returns `error` with " (NAME, after 3 attempts in 12s)" at the end of its
// message, and its code and payloads. Without memory for that, returns `error`.
absl::Status NameWait(absl::Status error, absl::string_view name,
                      int64_t attempts, MonotonicTime start, MonotonicTime now);

// Returns the error of a wait whose server asked, in `last`, for a longer delay
// than `max_retry_after`: the error of the poll, otherwise kUnavailable with
// its detail, followed by the limit.
absl::Status RetryAfterError(const Poll<>& last,
                             const RetryAfterOptions& options);

}  // namespace waiter::internal

#endif  // WAITER_FINAL_STATUS_H_
