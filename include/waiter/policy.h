// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitOptions`, checked once and prepared for use. Any number of waits can
// share a policy; each holds only its state:
//
//   std::shared_ptr<const waiter::WaitPolicy> policy =
//       waiter::WaitPolicy::Make({.timeout = absl::Minutes(5)});
//   for (Job& job : jobs) {
//     engine.Start(waiter::Waiter([&job] { return job.Poll(); }, policy), Log)
//         .Detach();
//   }
//
// Most users need only `Make`. The other functions are for drivers that run a
// `WaitLoop` (loop.h) in their own event loop.

#ifndef WAITER_POLICY_H_
#define WAITER_POLICY_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {

// Immutable, so safe to share between threads. Objects that the options point
// to, such as the clock, must outlive the policy and every wait that uses it.
class WaitPolicy {
 public:
  // Returns a policy, never null. If `precondition` is not OK or the options
  // are invalid, every wait of the policy ends before its first poll, with
  // `StopReason::kInvalidOptions`. The error is always kInvalidArgument, with
  // the message of `precondition` or `Validate`.
  static std::shared_ptr<const WaitPolicy> Make(
      WaitOptions options, absl::Status precondition = absl::OkStatus());

  // Returns `policy` if `precondition` is OK, otherwise a policy with the same
  // options and the error `precondition`. Requires that `policy` is not null.
  static std::shared_ptr<const WaitPolicy> Checked(
      std::shared_ptr<const WaitPolicy> policy, absl::Status precondition) {
    return precondition.ok() ? std::move(policy)
                             : Make(policy->options(), std::move(precondition));
  }

  // Returns the precondition if that is not OK, otherwise
  // `Validate(options())`. If the result is not OK, every function is safe to
  // call, but only the results of `options()` and `clock()` are meaningful.
  const absl::Status& status() const { return status_; }

  const WaitOptions& options() const { return options_; }

  // Returns `options().clock`, or the real clock if that is null.
  Clock& clock() const { return clock_; }

  // Returns whether `timeout` or `deadline` bounds the wait.
  bool has_deadline() const { return has_deadline_; }

  // Returns the deadline of a wait that starts at `start`, on the scale of
  // `clock()`. Reads the wall clock if `deadline` is set, and only then.
  MonotonicTime DeadlineFrom(MonotonicTime start) const {
    const MonotonicTime by_timeout = SaturatingAdd(start, durations_.timeout);
    return options_.deadline.has_value()
               ? (std::min)(by_timeout, AbsoluteDeadlineFrom(start))
               : by_timeout;
  }

  // Returns whether an observer, a history, `on_checkpoint` or a source that
  // records durations needs details that most waits omit.
  bool keeps_details() const { return keeps_details_; }

  // Returns the observer of every wait with this policy: the options' observer,
  // `ObserveEveryWait`'s (observer.h), a list of both, or null.
  WaitObserver* observer() const { return observer_.get(); }

  // Returns what `observer()->poll_hooks()` returned when this was made.
  WaitObserver::PollHooks poll_hooks() const { return poll_hooks_; }

  // Returns the source of the delays of `options()`, for its operation, or
  // null.
  DelaySource* delay_source() const { return delay_source_.get(); }

  // Returns whether there is a source that replaces all delays.
  bool source_replaces_all() const { return source_replaces_all_; }

  // Returns whether there is a quota or a rate limiter.
  bool has_budgets() const { return has_budgets_; }

  // Returns `delay` in the unit of the loop, at most 73 years, so that several
  // such delays can be added to each other and to any time without overflow.
  static std::chrono::nanoseconds ToLoopDuration(absl::Duration delay);

  // Returns whether a success needs no confirmation.
  bool one_success_suffices() const {
    return options_.confirm.successes == 1 &&
           durations_.hold_for == std::chrono::nanoseconds::zero();
  }

  // Returns whether this policy is valid, and its waits keep only times, growth
  // and number of polls: no confirmation, budget, details, own generator or
  // limit on consecutive polls.
  bool is_plain() const { return is_plain_; }

  // Returns whether a first poll that finds success in time ends the wait, with
  // nothing left to record: no confirmation, first delay, budget, observer,
  // history or `on_failure`.
  bool first_success_suffices() const { return first_success_suffices_; }

  // Returns what `first_success_suffices` returns for a policy with these
  // options, which must be valid. For callers that need a policy only if their
  // first poll does not succeed.
  static bool FirstSuccessSuffices(const WaitOptions& options);

  // Returns whether, after a poll that found `found`, the next step needs the
  // exact time. It does not if a success ends a wait that has not slept, or if
  // the next poll follows immediately. The cheaper
  // `Clock::MonotonicNowBefore(deadline)` is then enough.
  bool NeedsExactTime(const Poll<>& found, bool has_slept) const {
    if (found.status() == PollStatus::kSuccess) {
      return has_slept || !first_success_suffices_;
    }
    return found.status() > PollStatus::kFailed ||
           found.retry_after() > absl::ZeroDuration() ||
           !polls_at_once_after_[static_cast<size_t>(found.status())];
  }

  // Returns the backoff of the delays after polls with `status`. A success that
  // is being confirmed uses `kNotReady`'s.
  const Backoff& BackoffAfter(PollStatus status) const {
    switch (status) {
      case PollStatus::kServerError:
        return *server_error_;
      case PollStatus::kThrottled:
        return *throttled_;
      default:
        return *not_ready_;
    }
  }

  // Calls `on_failure` of the options, if it is set and `report` is not a
  // success. Call it once for each wait, after its end.
  void CallOnFailureAfter(std::string_view name,
                          const WaitReport& report) const {
    if (CallsOnFailureAfter(report)) CallOnFailure(name, report);
  }
  bool CallsOnFailureAfter(const WaitReport& report) const {
    return report.reason != StopReason::kSuccess &&
           options_.hooks.on_failure != nullptr;
  }

  // Durations of `options()` in the unit of the loop. Infinity, where allowed,
  // is `max()`.
  struct Durations {
    std::chrono::nanoseconds timeout;
    std::chrono::nanoseconds first_poll_delay;
    std::chrono::nanoseconds hold_for;
    std::chrono::nanoseconds final_poll_lead;
    std::chrono::nanoseconds final_poll_timeout;  // At most `poll_timeout`.
    std::chrono::nanoseconds max_retry_after;
    std::chrono::nanoseconds retry_after_overshoot;
  };
  const Durations& durations() const { return durations_; }

  // Limits of `options()`, or the largest number if there is no limit.
  struct Limits {
    int64_t attempts;
    int64_t consecutive_server_errors;
  };
  const Limits& limits() const { return limits_; }

 private:
  WaitPolicy(WaitOptions&& options, absl::Status&& status);

  void CallOnFailure(std::string_view name, const WaitReport& report) const;

  // Converts `options().deadline`, which must be set.
  MonotonicTime AbsoluteDeadlineFrom(MonotonicTime start) const;

  WaitOptions options_;
  absl::Status status_;
  Clock& clock_;
  std::shared_ptr<WaitObserver> observer_;
  WaitObserver::PollHooks poll_hooks_;
  SharedDelaySource delay_source_;
  bool has_deadline_;
  bool keeps_details_;
  bool source_replaces_all_;
  bool has_budgets_;
  bool first_success_suffices_;
  bool is_plain_;
  // By `PollStatus`: whether no delay follows that status without a
  // `retry_after`.
  std::array<bool, 5> polls_at_once_after_;
  Limits limits_;
  Durations durations_;
  // Policies share the default backoffs.
  std::shared_ptr<const Backoff> not_ready_;
  std::shared_ptr<const Backoff> server_error_;
  std::shared_ptr<const Backoff> throttled_;
};

// Computes the delays of a wait without waiting, for tables, plots and tests of
// policies:
//
//   waiter::SplitMix64 gen(42);
//   absl::StatusOr<std::vector<absl::Duration>> delays =
//       waiter::Schedule({.timeout = absl::Minutes(5)}, gen);
//
// The delays of a policy against a server that throttles every poll:
//
//   waiter::WaitOptions options = waiter::AwsStandard2026();
//   options.timeout = absl::Minutes(1);
//   delays = waiter::Schedule(options, gen, /*max_delays=*/10,
//                             waiter::PollStatus::kThrottled);
//
// The loop that drives every wait computes the schedule, so the schedule
// matches real waits, including limits, last poll and delay source.

// Returns the delays between the polls of a wait whose polls take no time and
// all find `found`, at most `max_delays` of them. These are the delays that a
// wait with the same options and generator sleeps, zeros included, in order; a
// `polls.first_delay` comes first. If `options` are invalid, returns the error
// of `Validate`.
//
// Ignores the observer, the history and `on_checkpoint` of the options. Uses
// full budgets with the same options instead of shared ones. Learned delays
// learn nothing from it. Never sleeps, and takes time in proportion to the
// number of delays. Reads the wall clock only for an absolute `deadline`.
absl::StatusOr<std::vector<absl::Duration>> Schedule(
    WaitOptions options, absl::BitGenRef gen, int64_t max_delays = 1000,
    const Poll<>& found = PollStatus::kNotReady);

// Takes a policy, for callers that compute many schedules with one policy.
// Requires `policy.status().ok()` and a policy without options that the other
// overload ignores or replaces. Learned delays must not record durations.
// Thread-safe, if each thread has its own generator.
std::vector<absl::Duration> Schedule(
    const WaitPolicy& policy, absl::BitGenRef gen, int64_t max_delays = 1000,
    const Poll<>& found = PollStatus::kNotReady);

}  // namespace waiter

#endif  // WAITER_POLICY_H_
