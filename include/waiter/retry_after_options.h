// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options for the use of a server's `retry_after`, called the hint below:
//
//   waiter::WaitOptions options = {.timeout = absl::Minutes(30)};
//   options.retry_after.max_retry_after = absl::Minutes(2);
//
// Systems differ in how they combine a hint with the delay that they computed.
// The default treats the hint as a lower bound and adds jitter to it, because
// clients that got the same hint would otherwise return together. For a server
// whose hints are exact:
//
//   options.retry_after.rule = waiter::RetryAfterOptions::Rule::kReplace;
//
// retry_after.h reads hints from the headers of responses.

#ifndef WAITER_RETRY_AFTER_OPTIONS_H_
#define WAITER_RETRY_AFTER_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

// A wait uses hints after "not ready", throttled answers and server errors. It
// ignores zero, negative and infinite hints. With a `DelayRule`, these rules
// apply only within its `computed()`, and `past_deadline` has no effect.
struct RetryAfterOptions {
  // Rule that makes one delay of the computed delay and the hint.
  enum class Rule : uint8_t {
    kLowerBound,  // The computed delay if the hint is shorter, otherwise the
                  // hint + up to a quarter of it.
    kReplace,     // The hint.
    kSum,         // computed + hint.
    kClamp,       // The hint, within [computed, computed + `overshoot`].
  };

  // Reaction to a hint that reaches beyond the deadline of the wait.
  enum class PastDeadline : uint8_t {
    kStop,            // End at once, with `StopReason::kDeadline`.
    kPollAtDeadline,  // Ignore the excess: poll one last time at the deadline.
  };

  // With `kLowerBound` and `kReplace`, a hint that decided the delay restarts
  // the growth of all curves.
  Rule rule = Rule::kLowerBound;

  // Longer hints count as this long. Finite, above zero. A hint may lift a
  // delay above `max_delay`. The jitter of `kLowerBound` stays within this
  // limit, too.
  absl::Duration max_retry_after = absl::Minutes(10);

  // If true, a longer hint ends the wait at once as failed, with the error of
  // the poll or kUnavailable. Retrying earlier than the server asks would fail
  // again, and waiting that long may be useless. Has no effect with a
  // `delay_rule`.
  bool fail_beyond_max = false;

  // Used only by `kClamp`. Finite, zero or more.
  absl::Duration overshoot = absl::Seconds(5);

  // The default saves time, because no later poll can be in time, and spares
  // the server a poll that it asked not to get.
  PastDeadline past_deadline = PastDeadline::kStop;
};

}  // namespace waiter

#endif  // WAITER_RETRY_AFTER_OPTIONS_H_
