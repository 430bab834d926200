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
// presets.h provides options that reproduce the policies of other systems.

#ifndef WAITER_OPTIONS_H_
#define WAITER_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/result.h"
#include "waiter/version.h"

namespace waiter {

// Use of a server's `retry_after`:
//
//   waiter::WaitOptions options = {.timeout = absl::Minutes(30)};
//   options.errors.retry_after.max_retry_after = absl::Minutes(2);
//
// Systems differ in how they combine it with the delay that they computed. The
// default treats it as a lower bound and adds jitter, because clients that got
// the same `retry_after` would otherwise return together. For a server whose
// times are exact:
//
//   options.errors.retry_after.rule =
//       waiter::RetryAfterOptions::Rule::kReplace;
//
// classify.h parses the fields of responses. A wait uses `retry_after` after
// "not ready", throttled answers and server errors, and ignores zero, negative
// and infinite values. With a `delay_source` that replaces all delays, these
// rules apply only within its `computed()`, and `past_deadline` has no effect.
struct RetryAfterOptions {
  // Rule that combines the computed delay and `retry_after`.
  enum class Rule : uint8_t {
    kLowerBound,  // The computed delay if `retry_after` is shorter, otherwise
                  // `retry_after` plus up to a quarter of it.
    kReplace,     // `retry_after`.
    kSum,         // computed + `retry_after`.
    kClamp,       // `retry_after`, within [computed, computed + `overshoot`].
  };

  // Reaction to a `retry_after` that reaches beyond the deadline of the wait.
  enum class PastDeadline : uint8_t {
    kStop,            // End immediately, with `StopReason::kDeadline`.
    kPollAtDeadline,  // Ignore the excess: poll one last time at the deadline.
  };

  // With `kLowerBound` and `kReplace`, a `retry_after` that decided the delay
  // restarts the growth of all backoffs.
  Rule rule = Rule::kLowerBound;

  // A longer `retry_after` counts as this long. Finite, above zero. It may lift
  // a delay above `max_delay`. The jitter of `kLowerBound` also stays within
  // this limit.
  Duration max_retry_after = absl::Minutes(10);

  // If true, a longer `retry_after` ends the wait immediately as failed, with
  // the poll's error or kUnavailable. Retrying earlier than the server asks
  // would fail again, and waiting that long may be useless. Has no effect with
  // a `delay_source`.
  bool fail_beyond_max = false;

  // Used only by `kClamp`. Finite, zero or more.
  Duration overshoot = absl::Seconds(5);

  // The default saves time, because no later poll can be in time, and spares
  // the server a poll that it asked not to get.
  PastDeadline past_deadline = PastDeadline::kStop;
};

// A function that a wait calls when it ends without success, to cancel the
// operation that it waited for:
//
//   waiter::Waiter wait_until_running(
//       [&] { return GetStatus(client, id); },
//       {.timeout = absl::Minutes(5),
//        .hooks = {.on_failure = [&](const waiter::WaitFailure& end) {
//          client.Cancel(id, end.deadline);
//        }}});
//
// Without it, an operation whose wait has timed out continues at the server,
// and may cost money.
//
// The end of a wait without success. Views and references are valid until the
// function returns.
struct WaitFailure {
  std::string_view name;  // From the options or from `Start`.

  // `report.reason` says why the wait ended; `report.status` has the error.
  const WaitReport& report;

  // `WaitHooks::failure_timeout`, and the time at which it ends. Pass them on
  // to the call that cancels; they are not enforced.
  absl::Duration timeout;
  absl::Time deadline;
};

// Called exactly once for every wait that ends without success, for any reason:
// failure, a limit, a stop, the end of the engine, invalid options, an
// exception of the status function. Only a wait whose handle is destroyed does
// not call it, because the objects to which functions refer may be destroyed
// next.
//
// `Wait` calls it on the calling thread before it returns. An engine calls it
// on its thread before the callback. An engine with an executor hands it to the
// executor, and the callback may run first. An exception that leaves it
// terminates the program.
//
// The wait has ended: the time that the function takes is not part of the
// report, and a stop that it requests comes too late. It may start waits and
// destroy the handle of its wait, whose callback then does not run. While it
// blocks, `Wait` does not return, and without an executor the other waits of
// its thread are held up.
using FailureFunction = std::function<void(const WaitFailure&)>;

class RateLimiter;
class RetryQuota;
class WaitObserver;
class WaitToken;

// Full jitter, because after an error, spreading the load matters more than an
// even pace.
struct ServerErrorBackoffDefaults : BackoffDefaults {
  static constexpr absl::Duration kMaxDelay = absl::Seconds(10);
  static constexpr Jitter kJitter = Jitter::Full();
};
using ServerErrorBackoff = BasicBackoff<ServerErrorBackoffDefaults>;

struct ThrottledBackoffDefaults : BackoffDefaults {
  static constexpr absl::Duration kInitialDelay = absl::Seconds(2);
  static constexpr absl::Duration kMaxDelay = absl::Minutes(1);
  static constexpr OptionalDuration kMinDelay = absl::Seconds(1);
};
using ThrottledBackoff = BasicBackoff<ThrottledBackoffDefaults>;

// How a wait reacts to server errors and throttling. Each backoff applies after
// polls with one status, and grows only with those. A healthier answer restarts
// the backoffs of worse statuses.
struct ErrorOptions {
  // Delays after a server error.
  ServerErrorBackoff server_error_backoff = {};

  // Delays after a throttled answer. Such a delay is never shorter than the
  // next of `WaitOptions::backoff`, which does not advance.
  ThrottledBackoff throttled_backoff = {};

  // Number of consecutive server errors that ends the wait. At least 1; unset:
  // no limit.
  std::optional<int64_t> max_consecutive_server_errors = std::nullopt;

  // Use of the `retry_after` that a server sends.
  RetryAfterOptions retry_after = {};
};

// Budgets that many waits share; see budgets.h.
struct BudgetOptions {
  // A poll after a server error or a throttled answer costs tokens. If the
  // quota refuses it, the wait ends immediately with `StopReason::kQuota`.
  std::shared_ptr<RetryQuota> retry_quota = nullptr;

  // If true, a wait that the quota refuses ends only after the delay that would
  // have followed. Meant for long polling, where a caller that immediately
  // starts a new wait would otherwise poll without delay.
  bool delay_when_refused = false;

  // Every poll passes this limiter. It may delay polls, even the first one, but
  // not beyond the deadline: the last poll is made even if the limiter refuses
  // it.
  std::shared_ptr<RateLimiter> rate_limiter = nullptr;
};

// How a success is confirmed before it counts.
struct ConfirmOptions {
  // Number of consecutive successes that the wait requires. At least 1. Any
  // other status restarts the count. Delays do not grow during confirmation.
  int64_t successes = 1;

  // How long every poll, and at least two, must find success. Finite, zero or
  // more. Any other status restarts the time. The last delay is cut short, even
  // below `min_delay`, so that a poll comes when the time is over. A hold that
  // ends exactly at the deadline counts.
  Duration hold_for = absl::ZeroDuration();
};

// When the first poll starts, and what applies to the last one.
struct EdgePollOptions {
  // Delay before the first poll, for operations that take a while in any case.
  // Finite, zero or more. Not jittered.
  Duration first_delay = absl::ZeroDuration();

  // Time before the deadline at which the last poll starts. Finite, zero or
  // more. Set it to the time that a poll takes if the answer must arrive by the
  // deadline; the wait ends with that poll. Zero means exactly at the deadline.
  // Has no effect when no more than this remains, nor during confirmation.
  Duration last_lead = absl::ZeroDuration();

  // Minimum time for a poll that starts at or near the deadline, but at most
  // `poll_timeout`. Finite, zero or more. Such a poll may end this long after
  // the deadline. With zero, a poll that starts before the deadline gets the
  // time that remains, however little that is.
  Duration last_timeout = absl::ZeroDuration();

  // If false, a success or failure that arrives after the deadline is returned,
  // with `WaitReport::late` set. If true, the wait ends with kDeadlineExceeded
  // instead.
  bool strict_deadline = false;
};

// The hooks and records of a wait, and the seed that makes it repeatable.
struct WaitHooks {
  // Called at every poll, sleep and end; see observer.h.
  std::shared_ptr<WaitObserver> observer = nullptr;

  // Called once if the wait ends without success, to cancel the operation that
  // it waited for; see `FailureFunction`.
  FailureFunction on_failure = nullptr;

  // Time that `on_failure` should take, passed to it in its argument. Zero or
  // more.
  Duration failure_timeout = absl::Seconds(10);

  // Called before every sleep with a token from which another process can
  // resume the wait; see token.h.
  std::function<void(const WaitToken&)> on_checkpoint = nullptr;

  // Maximum number of records in `WaitReport::history`, which keeps the latest
  // polls. Zero or more.
  int64_t history_limit = 0;

  // Seed of jittered delays: every wait with these options draws the same ones.
  // Unset: every wait has its own seed.
  std::optional<uint64_t> seed = std::nullopt;
};

// A value. A wait checks its options before the first poll and ends with
// kInvalidArgument if one is out of range. It copies the options; objects to
// which they hold a plain pointer must outlive every wait that uses them. Many
// waits with equal options should share a `WaitPolicy` (policy.h).
struct WaitOptions {
  // Name of the wait, used in messages and hooks.
  std::string name = "wait";

  // Kind of wait, such as "create instance": a metric label, so a program
  // should use few. May be empty.
  std::string operation = {};

  // Limits. The first one that is reached ends the wait.

  // Time that the whole wait may take, from its start. Has no default, because
  // only the caller knows it: a wait with neither `timeout` nor `deadline` is
  // an error, and `absl::InfiniteDuration()` waits forever. Zero or less: polls
  // once. No sleep outlasts it; exactly one last poll is made at its end.
  OptionalDuration timeout = std::nullopt;

  // The same limit as a point in time; the earlier of the two applies. It is
  // converted to the monotonic clock once, when the wait starts, so that later
  // steps of the wall clock change nothing. A time in the past polls once.
  std::optional<absl::Time> deadline = std::nullopt;

  // Maximum number of polls, including the first. At least 1; unset: no limit.
  std::optional<int64_t> max_attempts = std::nullopt;

  // Time that one poll should take. Zero or more. The status function finds it
  // in `PollContext`; it is not enforced, and a poll that overruns is awaited.
  // Polls of an `AsyncWaiter` are not awaited beyond the deadline of the wait.
  // A poll that starts at the deadline gets `polls.last_timeout`; if that is
  // zero, this time; and if this is infinite, twice the longest poll so far,
  // within [1 s, 10 s].
  Duration poll_timeout = absl::InfiniteDuration();

  // Delays after "not ready". `errors` covers other answers.
  BackoffOptions backoff = {};

  // Replaces `backoff` or all delays, but not the limits: a function, learned
  // delays (learned/learned_delays.h), or your own source; see delay_source.h.
  // Called on every thread that runs such a wait.
  SharedDelaySource delay_source = nullptr;

  // Groups of options; see each type above.
  ErrorOptions errors = {};
  BudgetOptions budgets = {};
  ConfirmOptions confirm = {};
  EdgePollOptions polls = {};
  WaitHooks hooks = {};

  // Clock by which the wait measures time and sleeps. Not owned; must outlive
  // every wait that uses it. Null: `GetRealClock()`.
  Clock* clock = nullptr;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const WaitOptions& options);

}  // namespace waiter

#endif  // WAITER_OPTIONS_H_
