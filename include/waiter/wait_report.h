// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Everything about a wait but its value: why it ended, how many polls it took,
// how long, and what they found.
//
//   LOG(INFO) << result.report().attempts << " polls in "
//             << result.report().elapsed;

#ifndef WAITER_WAIT_REPORT_H_
#define WAITER_WAIT_REPORT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/poll.h"

namespace waiter {

// What ended a wait. It tells a status function's own kCancelled or
// kDeadlineExceeded (`kFailed`) from the wait's.
enum class StopReason : uint8_t {
  kSuccess,           // The status function found success.
  kFailed,            // It found failure; its code and message are unchanged.
  kDeadline,          // `timeout` or `deadline`: kDeadlineExceeded.
  kCancelled,         // A stop was requested: kCancelled.
  kAttempts,          // `max_attempts`: kResourceExhausted.
  kConsecutiveLimit,  // A limit on one status in a row: kResourceExhausted.
  kDelayRule,       // `delay_rule` wanted no further poll: kResourceExhausted.
  kQuota,           // `retry_quota` refused a poll: kResourceExhausted.
  kShutDown,        // The engine was destroyed: kCancelled.
  kInvalidOptions,  // Nothing was polled: kInvalidArgument names the field.
};

// Returns "success", "failed", "deadline", and so on.
std::string_view StopReasonName(StopReason reason);

// One poll of a report's history.
struct PollRecord {
  int64_t attempt;         // From 1.
  absl::Duration started;  // Since the start of the wait.
  absl::Duration took;
  PollStatus status;
  std::string detail;
  absl::Duration delay;  // Chosen after it, in all; zero after the last poll.
};

// Everything about a wait but its value.
struct WaitReport {
  StopReason reason = StopReason::kInvalidOptions;

  // OK exactly for success. Else it says, in one shape for every limit: the
  // wait's name, the limit, attempts, time, and what the last poll found.
  absl::Status status;

  int64_t attempts = 0;

  // Returns how many polls found `found`.
  int64_t count(PollStatus found) const {
    return counts[static_cast<size_t>(found)];
  }
  std::array<int64_t, 5> counts = {};

  // From the start of the wait to its end, status function included. No clock
  // is read that the wait does not need: this is exact once it has slept, else
  // to within 10 ms, and without a deadline it leaves out the first poll.
  absl::Duration elapsed;

  // The part of `elapsed` that was slept, and the longest poll.
  absl::Duration slept;
  absl::Duration longest_poll;

  // The last finished poll, if `attempts` is not zero; and the first and last
  // that found a server error, throttling or failure.
  Poll<> last_poll;
  std::optional<Poll<>> first_error;
  std::optional<Poll<>> last_error;

  // The success or failure arrived after the deadline.
  bool late = false;

  // The last `history_limit` polls, oldest first.
  std::vector<PollRecord> history;

  // What the status function threw, with the reason `kFailed`. Null where the
  // exception passed through to the caller instead.
  std::exception_ptr exception;
};

}  // namespace waiter

#endif  // WAITER_WAIT_REPORT_H_
