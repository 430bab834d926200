// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitOptions`, checked once and made ready for use. Any number of waits share
// one policy; each holds only its own state.
//
//   std::shared_ptr<const waiter::WaitPolicy> policy =
//       waiter::WaitPolicy::Make({.timeout = absl::Minutes(5)});

#ifndef WAITER_WAIT_POLICY_H_
#define WAITER_WAIT_POLICY_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/loop/backoff.h"
#include "waiter/options.h"
#include "waiter/poll.h"

namespace waiter {

// Immutable, so safe to share between threads.
class WaitPolicy {
 public:
  // Never null. `precondition` is what must be OK besides the options.
  static std::shared_ptr<const WaitPolicy> Make(
      WaitOptions options, absl::Status precondition = absl::OkStatus());

  // Returns `policy` if `precondition` is OK, else one like it that is not.
  static std::shared_ptr<const WaitPolicy> Checked(
      std::shared_ptr<const WaitPolicy> policy, absl::Status precondition) {
    return precondition.ok() ? std::move(policy)
                             : Make(policy->options(), std::move(precondition));
  }

  // `precondition`, or else `Validate(options())`. If not OK, a wait ends
  // before its first poll, and the rest of this class is not to be asked.
  const absl::Status& status() const { return status_; }

  const WaitOptions& options() const { return options_; }
  Clock& clock() const { return clock_; }

  // Returns whether `timeout` or `deadline` bounds the wait.
  bool has_deadline() const { return has_deadline_; }

  // Returns the deadline of a wait that starts at `start`, on the scale of
  // `clock()`. Reads the wall clock if `deadline` is set, and only then.
  MonotonicTime DeadlineFrom(MonotonicTime start) const {
    const MonotonicTime by_timeout = SaturatingAdd(start, durations_.timeout);
    return options_.deadline.has_value()
               ? std::min(by_timeout, AbsoluteDeadlineFrom(start))
               : by_timeout;
  }

  // Returns whether an observer or a history wants to know of every poll.
  bool keeps_details() const { return keeps_details_; }

  bool has_delay_rule() const { return has_delay_rule_; }

  // Returns whether there is a quota or a limiter to ask.
  bool has_budgets() const { return has_budgets_; }

  // Returns `delay` in the unit of the loop, cut to a length of which several
  // can be added, and to any time, without overflow.
  static std::chrono::nanoseconds ToLoopDuration(absl::Duration delay);

  // Returns whether a success needs no confirmation.
  bool one_success_suffices() const {
    return options_.successes_required == 1 &&
           durations_.hold_for == std::chrono::nanoseconds::zero();
  }

  // Returns whether a wait ends as soon as its first poll finds success in
  // time, and nobody wants to know when that was.
  bool first_success_suffices() const { return first_success_suffices_; }

  // The same of valid options, for those that need a policy only otherwise.
  static bool FirstSuccessSuffices(const WaitOptions& options);

  // Returns whether the exact time matters after a poll that found `found`. Not
  // after a success that ends a wait which has not slept, nor where the next
  // poll follows at once: there, only the deadline asks for the time.
  bool NeedsExactTime(const Poll<>& found, bool has_slept) const {
    if (found.status() == PollStatus::kSuccess) {
      return has_slept || !first_success_suffices_;
    }
    return found.status() > PollStatus::kFailed ||
           found.retry_after() > absl::ZeroDuration() ||
           !polls_at_once_after_[static_cast<size_t>(found.status())];
  }

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

  MonotonicTime AbsoluteDeadlineFrom(MonotonicTime start) const;

  WaitOptions options_;
  absl::Status status_;
  Clock& clock_;
  bool has_deadline_;
  bool keeps_details_;
  bool has_delay_rule_;
  bool has_budgets_;
  bool first_success_suffices_;
  std::array<bool, 5> polls_at_once_after_;
  Limits limits_;
  Durations durations_;
  Backoff not_ready_;
  Backoff server_error_;
  Backoff throttled_;
};

}  // namespace waiter

#endif  // WAITER_WAIT_POLICY_H_
