// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitOptions`, checked once and made ready for use. Any number of waits share
// one policy; each holds only its own state.
//
//   std::shared_ptr<const waiter::WaitPolicy> policy =
//       waiter::WaitPolicy::Make({.timeout = absl::Minutes(5)});

#ifndef WAITER_WAIT_POLICY_H_
#define WAITER_WAIT_POLICY_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/options.h"

namespace waiter {

// Immutable, so safe to share between threads.
class WaitPolicy {
 public:
  // Never null. `precondition` is what must be OK besides the options.
  static std::shared_ptr<const WaitPolicy> Make(
      WaitOptions options, absl::Status precondition = absl::OkStatus());

  // `precondition`, or else `Validate(options())`. If not OK, a wait ends
  // before its first poll, and the rest of this class is not to be asked.
  const absl::Status& status() const { return status_; }

  const WaitOptions& options() const { return options_; }
  Clock& clock() const { return clock_; }

  // Returns whether `timeout` or `deadline` bounds the wait.
  bool has_deadline() const { return has_deadline_; }

  // Returns the deadline of a wait that starts at `start`, on the scale of
  // `clock()`. Reads the wall clock if `deadline` is set, and only then.
  MonotonicTime DeadlineFrom(MonotonicTime start) const;

  // Returns whether something asks for the times of every poll: the deadline
  // alone can do with less.
  bool needs_exact_times() const { return needs_exact_times_; }

  // The curve of each status that a wait goes on after.
  const Backoff& not_ready() const { return not_ready_; }
  const Backoff& server_error() const { return server_error_; }
  const Backoff& throttled() const { return throttled_; }

  // Durations of `options()` in the unit of the loop; infinite is `max()`.
  struct Durations {
    std::chrono::nanoseconds timeout;
    std::chrono::nanoseconds first_poll_delay;
    std::chrono::nanoseconds hold_for;
    std::chrono::nanoseconds final_poll_lead;
    std::chrono::nanoseconds max_server_error_time;
    std::chrono::nanoseconds max_retry_after;
    std::chrono::nanoseconds retry_after_overshoot;
  };
  const Durations& durations() const { return durations_; }

  // Limits of `options()`, with the largest number for «no limit».
  struct Limits {
    int64_t attempts;
    int64_t consecutive_server_errors;
    int64_t consecutive_throttles;
  };
  const Limits& limits() const { return limits_; }

 private:
  WaitPolicy(WaitOptions options, absl::Status status);

  WaitOptions options_;
  absl::Status status_;
  Clock& clock_;
  bool has_deadline_;
  bool needs_exact_times_;
  Limits limits_;
  Durations durations_;
  Backoff not_ready_;
  Backoff server_error_;
  Backoff throttled_;
};

}  // namespace waiter

#endif  // WAITER_WAIT_POLICY_H_
