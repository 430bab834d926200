// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Use of a server's `retry_after`, below called the hint:
//
//   waiter::WaitOptions options = {.timeout = absl::Minutes(30)};
//   options.retry_after.max_retry_after = absl::Minutes(2);
//
// Systems differ in how they combine a hint with the delay that they computed.
// The default takes it for a lower bound and adds jitter, because clients that
// got the same hint would otherwise return together. A server whose hints are
// exact is served by
//
//   options.retry_after.rule = waiter::RetryAfterOptions::Rule::kReplace;
//
// retry_after.h reads hints from the headers of responses.

#ifndef WAITER_RETRY_AFTER_OPTIONS_H_
#define WAITER_RETRY_AFTER_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace waiter {

// Hints count after "not ready", throttled answers and server errors. Those
// that are zero, negative or infinite are ignored. With a `DelayRule`, these
// rules apply only within its `computed()`, and `past_deadline` not at all.
struct RetryAfterOptions {
  // The delay, from the computed delay and the hint.
  enum class Rule : uint8_t {
    kLowerBound,  // max(computed, hint) + up to a quarter of the hint.
    kReplace,     // The hint.
    kSum,         // computed + hint.
    kClamp,       // The hint, within [computed, computed + `overshoot`].
  };

  // The reaction to a hint that reaches beyond the deadline of the wait.
  enum class PastDeadline : uint8_t {
    kStop,            // End at once, with `StopReason::kDeadline`.
    kPollAtDeadline,  // Poll one last time at the deadline all the same.
  };

  // With `kLowerBound` and `kReplace`, a hint that decided the delay restarts
  // the growth of all curves.
  Rule rule = Rule::kLowerBound;

  // Longer hints count as this long. Finite, above zero. A hint may lift a
  // delay above `max_delay`. The jitter of `kLowerBound` stays within this
  // limit, too.
  absl::Duration max_retry_after = absl::Minutes(10);

  // Used only by `kClamp`. Finite, zero or more.
  absl::Duration overshoot = absl::Seconds(5);

  // The default saves time, as no later poll can be in time, and spares the
  // server a poll that it asked not to get.
  PastDeadline past_deadline = PastDeadline::kStop;
};

}  // namespace waiter

#endif  // WAITER_RETRY_AFTER_OPTIONS_H_
