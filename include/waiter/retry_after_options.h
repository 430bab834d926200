// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What to make of a server's `retry_after`, here called the hint:
//
//   options.retry_after.max_retry_after = absl::Minutes(2);
//
// Systems differ in how they combine a hint with the delay that they had
// computed; docs/design.md says why the default is a lower bound.

#ifndef WAITER_RETRY_AFTER_OPTIONS_H_
#define WAITER_RETRY_AFTER_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace waiter {

// Hints of zero, below, or infinity are ignored.
struct RetryAfterOptions {
  enum class Rule : uint8_t {
    kLowerBound,  // max(computed, hint) + up to a quarter of the hint.
    kReplace,     // The hint.
    kSum,         // computed + hint.
    kClamp,       // The hint, within [computed, computed + `overshoot`].
  };
  enum class PastDeadline : uint8_t {
    kStop,            // End at once, with `StopReason::kDeadline`.
    kPollAtDeadline,  // Ask one last time at the deadline all the same.
  };

  // After a hint that decided the delay, `kLowerBound` and `kReplace` restart
  // the growth of all curves.
  Rule rule = Rule::kLowerBound;

  // Longer hints count as this long. Finite, positive. A hint may lift a delay
  // above `max_delay`; with `kLowerBound`, its jitter stays below this too.
  absl::Duration max_retry_after = absl::Minutes(10);

  // Used by `kClamp` alone. Finite, zero or more.
  absl::Duration overshoot = absl::Seconds(5);

  // What to do when the hint reaches beyond the deadline.
  PastDeadline past_deadline = PastDeadline::kStop;
};

}  // namespace waiter

#endif  // WAITER_RETRY_AFTER_OPTIONS_H_
