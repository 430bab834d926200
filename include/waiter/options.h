// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Every knob of a wait on one page. Only `timeout` must be given; the rest is a
// good choice until you have a reason to change it:
//
//   waiter::WaitOptions options;
//   options.timeout = absl::Minutes(5);
//   options.backoff.max_delay = absl::Seconds(30);
//
// Or in place: `{.name = "instance i-0abc", .timeout = absl::Minutes(5)}`.

#ifndef WAITER_OPTIONS_H_
#define WAITER_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff_options.h"
#include "waiter/delay_rule.h"
#include "waiter/retry_after_options.h"

namespace waiter {

class AdaptiveRateLimiter;
class Clock;
class RetryQuota;
class WaitObserver;

struct WaitOptions {
  // What is waited for, as messages shall call it.
  std::string name = "wait";

  // When to give up.

  // Time the whole wait may take. It has no default, as only the caller knows:
  // unset, with no `deadline` either, is an error, and `InfiniteDuration()`
  // waits for ever. Zero or less checks once.
  std::optional<absl::Duration> timeout = std::nullopt;

  // The same as a point in time; the earlier wins. Placed on the monotonic
  // clock when the wait starts, and not before that: later steps of the wall
  // clock change nothing, and a time that has passed checks once.
  std::optional<absl::Time> deadline = std::nullopt;

  // Most polls, the first included. Unset: no limit. At least 1.
  std::optional<int64_t> max_attempts = std::nullopt;

  // The wait ends with the Nth server error, or throttled answer, in a row, or
  // with a server error this long after the first of its row.
  std::optional<int64_t> max_consecutive_server_errors = std::nullopt;
  std::optional<int64_t> max_consecutive_throttles = std::nullopt;
  absl::Duration max_server_error_time = absl::InfiniteDuration();

  // How long to delay between two polls, by what the last one found. Each curve
  // grows on its own; a healthier answer restarts the worse ones. A throttled
  // delay is never shorter than the next one of `backoff`, which stays next.

  BackoffOptions backoff = {};
  // Full jitter, as to spread the load matters more here than an even pace.
  BackoffOptions server_error = {.max_delay = absl::Seconds(10),
                                 .jitter = Jitter::Full()};
  BackoffOptions throttled = {.initial_delay = absl::Seconds(2),
                              .max_delay = absl::Minutes(1),
                              .jitter = Jitter::Equal(),
                              .min_delay = absl::Seconds(1)};
  RetryAfterOptions retry_after = {};

  // Replaces the curves and the hints, but not the deadline; see delay_rule.h.
  DelayRule delay_rule = nullptr;

  // Budgets that many waits share; see retry_quota.h and rate_limiter.h. Polls
  // after an error or a throttled answer cost tokens of the quota; one that it
  // refuses ends the wait, at once or, for polls that the server holds open for
  // long, after the delay that would have come. Every poll passes the limiter.
  std::shared_ptr<RetryQuota> retry_quota = nullptr;
  bool delay_when_refused = false;
  std::shared_ptr<AdaptiveRateLimiter> rate_limiter = nullptr;

  // Delay before the first poll, for what is known to take a while.
  absl::Duration first_poll_delay = absl::ZeroDuration();

  // When the condition must hold, not just occur. Anything but a success starts
  // over. Delays do not grow meanwhile, and a hold that ends exactly at the
  // deadline counts.

  // Successes in a row that are needed. At least 1.
  int64_t successes_required = 1;

  // Time for which every poll must find success, seen by at least two polls. A
  // delay is cut short, below `min_delay` too, to poll just when it is over.
  absl::Duration hold_for = absl::ZeroDuration();

  // The end of a wait, and slow polls.

  // How long before the deadline the last poll starts: the time that a poll
  // takes gets its answer in by the deadline. The wait ends with that poll.
  // Zero asks exactly at the deadline. Dropped once no more than it remains,
  // and while a success is confirmed.
  absl::Duration final_poll_lead = absl::ZeroDuration();

  // A success or failure that arrives after the deadline is returned with
  // `late` set; if this is true it is dropped: kDeadlineExceeded.
  bool strict_deadline = false;

  // What one poll may take. Handed to the status function in `PollContext`,
  // never enforced: a poll that overruns is awaited.
  absl::Duration poll_timeout = absl::InfiniteDuration();

  // What is told, and what is injected.

  // Polls whose time, status and delay the report keeps: the last N.
  int64_t history_limit = 0;

  // Called at every poll, sleep and end; see observer.h. Not owned: must
  // outlive every wait that uses it.
  WaitObserver* observer = nullptr;

  // Not owned. Null: `GetRealClock()`.
  Clock* clock = nullptr;

  // Makes the delays of every wait the same each time. Unset: all differ.
  std::optional<uint64_t> seed = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const WaitOptions& options);

}  // namespace waiter

#endif  // WAITER_OPTIONS_H_
