// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// All options of a wait. Only `timeout` (or `deadline`) must be set; change the
// others only if you have a reason to:
//
//   waiter::WaitOptions options;
//   options.timeout = absl::Minutes(5);
//   options.backoff.max_delay = absl::Seconds(30);
//   waiter::Waiter wait(GetStatus, options);
//
// Options may also be given in place, in the order of the fields:
//
//   waiter::Waiter wait(GetStatus, {.name = "instance i-0abc",
//                                   .timeout = absl::Minutes(5),
//                                   .max_attempts = 100});
//
// presets.h has options that reproduce the policies of other systems.

#ifndef WAITER_OPTIONS_H_
#define WAITER_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff_options.h"
#include "waiter/delay_rule.h"
#include "waiter/give_up.h"
#include "waiter/retry_after_options.h"
#include "waiter/timeout.h"

namespace waiter {

class Clock;
class LearnedDelays;
class RateLimiter;
class RetryQuota;
class WaitObserver;
class WaitToken;

// A value. A wait checks its options before the first poll and ends with
// kInvalidArgument if one is out of range. It copies the options; objects to
// which they hold a plain pointer must outlive every wait that uses them. Many
// waits with equal options should share a `WaitPolicy` (wait_policy.h).
struct WaitOptions {
  // Name of the wait, used in messages and hooks.
  std::string name = "wait";

  // Kind of the wait, such as "create instance": a label of metrics, so a
  // program should have few. May be empty.
  std::string operation = {};

  // Limits. The first one that is reached ends the wait.

  // Time that the whole wait may take, from its start. Has no default, because
  // only the caller knows it: a wait with neither `timeout` nor `deadline` is
  // an error, and `absl::InfiniteDuration()` waits for ever. Zero or less:
  // polls once. No sleep passes this time; exactly one last poll is made at its
  // end.
  Timeout timeout = std::nullopt;

  // The same limit as a point in time; the earlier of the two applies. It is
  // converted to the monotonic clock once, when the wait starts, so that later
  // steps of the wall clock change nothing. A time in the past polls once.
  std::optional<absl::Time> deadline = std::nullopt;

  // Largest number of polls, the first included. At least 1; unset: no limit.
  std::optional<int64_t> max_attempts = std::nullopt;

  // Number of consecutive server errors, and of consecutive throttled answers,
  // that ends the wait. At least 1; unset: no limit.
  std::optional<int64_t> max_consecutive_server_errors = std::nullopt;
  std::optional<int64_t> max_consecutive_throttles = std::nullopt;

  // A server error that comes this long after the first of its streak ends the
  // wait. Zero or more.
  absl::Duration max_server_error_time = absl::InfiniteDuration();

  // Delays. Each curve below applies after polls with one status, and grows
  // only with those. A healthier answer restarts the curves of worse statuses.

  // After "not ready".
  BackoffOptions backoff = {};

  // After a server error. Full jitter, because spreading the load matters more
  // here than an even pace.
  BackoffOptions server_error = {.max_delay = absl::Seconds(10),
                                 .jitter = Jitter::Full()};

  // After a throttled answer. Such a delay is never shorter than `backoff`
  // would give next; `backoff` itself does not advance.
  BackoffOptions throttled = {.initial_delay = absl::Seconds(2),
                              .max_delay = absl::Minutes(1),
                              .jitter = Jitter::Equal(),
                              .min_delay = absl::Seconds(1)};

  // Use of the `retry_after` that a server sends; see retry_after_options.h.
  RetryAfterOptions retry_after = {};

  // Delays after "not ready" by how long earlier waits with the same
  // `operation` took, in place of `backoff`; see learned/learned_delays.h.
  std::shared_ptr<LearnedDelays> learned_delays = nullptr;

  // Replaces the curves and the server's hints, but not the limits; see
  // delay_rule.h. Called on every thread that runs such a wait.
  DelayRule delay_rule = nullptr;

  // Budgets that many waits share; see retry_quota.h and rate_limiter.h.

  // A poll after a server error or a throttled answer costs tokens. If the
  // quota refuses it, the wait ends at once with `StopReason::kQuota`.
  std::shared_ptr<RetryQuota> retry_quota = nullptr;

  // If true, a wait that the quota refuses ends only after the delay that would
  // have followed. Meant for long polling, where a caller that starts a new
  // wait at once would otherwise poll without delay.
  bool delay_when_refused = false;

  // Every poll passes this limiter. It may delay polls, also the first one, but
  // not beyond the deadline: the last poll is made whatever the limiter says.
  std::shared_ptr<RateLimiter> rate_limiter = nullptr;

  // Start and confirmation.

  // Delay before the first poll, for operations that take a while in any case.
  // Finite, zero or more. Not jittered.
  absl::Duration first_poll_delay = absl::ZeroDuration();

  // Number of consecutive successes that the wait requires. At least 1. Any
  // other status restarts the count. Delays do not grow during confirmation.
  int64_t successes_required = 1;

  // Time for which every poll must find success, seen by at least two polls.
  // Finite, zero or more. Any other status restarts the time. The last delay is
  // cut short, even below `min_delay`, so that a poll comes when the time is
  // over. A hold that ends exactly at the deadline counts.
  absl::Duration hold_for = absl::ZeroDuration();

  // The end of the wait, and slow polls.

  // Time before the deadline at which the last poll starts. Finite, zero or
  // more. Set it to the time that a poll takes if the answer must be there by
  // the deadline; the wait ends with that poll. Zero polls exactly at the
  // deadline. Has no effect when no more than this remains, nor during
  // confirmation.
  absl::Duration final_poll_lead = absl::ZeroDuration();

  // A success or failure that arrives after the deadline is returned, with
  // `WaitReport::late` set. If this is true, the wait ends with
  // kDeadlineExceeded instead.
  bool strict_deadline = false;

  // Time that one poll should take. Zero or more. The status function finds it
  // in `PollContext`; it is not enforced, and a poll that overruns is awaited.
  // Polls of an `AsyncWaiter` are not awaited beyond the deadline of the wait.
  // A poll that starts at the deadline gets `final_poll_timeout`, or, if that
  // is zero, this time; if this is infinite, too, twice the longest poll so
  // far, within [1 s, 10 s].
  absl::Duration poll_timeout = absl::InfiniteDuration();

  // Least time for a poll that starts near the deadline or at it, but at most
  // `poll_timeout`. Finite, zero or more. Such a poll may end this long after
  // the deadline. With zero, a poll that starts before the deadline gets the
  // time that remains, however little that is.
  absl::Duration final_poll_timeout = absl::ZeroDuration();

  // Called once if the wait ends without success, to cancel the operation that
  // it waited for; see give_up.h.
  GiveUpFunction on_give_up = nullptr;

  // Time that `on_give_up` should take, passed to it in its argument. Zero or
  // more.
  absl::Duration give_up_timeout = absl::Seconds(10);

  // Called before every sleep with a token from which another process can go
  // on with the wait; see wait_token.h.
  std::function<void(const WaitToken&)> on_checkpoint = nullptr;

  // Reporting and injection.

  // Largest number of records in `WaitReport::history`, which keeps the latest
  // polls. Zero or more.
  int64_t history_limit = 0;

  // Hooks that are called at every poll, sleep and end; see observer.h.
  std::shared_ptr<WaitObserver> observer = nullptr;

  // Clock by which the wait measures time and sleeps. Not owned; must outlive
  // every wait that uses it. Null: `GetRealClock()`.
  Clock* clock = nullptr;

  // Seed of jittered delays: every wait with these options draws the same ones.
  // Unset: every wait has its own seed.
  std::optional<uint64_t> seed = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const WaitOptions& options);

}  // namespace waiter

#endif  // WAITER_OPTIONS_H_
