// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Target and limits of learned delays (learned_delays.h). By default they are
// as late on average as the default curve of `WaitOptions`, with fewer polls.
// If you know what a second of waiting is worth to you, say so:
//
//   {.seconds_of_delay_worth_one_poll = 2}
//
// or state a budget of polls, or how late you may be:
//
//   {.expected_polls = 6}
//   {.max_lateness = absl::Seconds(5), .percentile = 0.95}

#ifndef WAITER_LEARNED_LEARNED_DELAYS_OPTIONS_H_
#define WAITER_LEARNED_LEARNED_DELAYS_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/version.h"

namespace waiter {

// A value. At most one target may be set.
struct LearnedDelaysOptions {
  // Target: the poll times that minimize polls + lateness / this, on average.
  // Lateness is the time from the end of the operation to the poll that finds
  // it. Finite, above zero.
  std::optional<double> seconds_of_delay_worth_one_poll = std::nullopt;

  // Target: this many polls per wait on average, the one at the start included,
  // and as little lateness as they allow. Finite, above one.
  std::optional<double> expected_polls = std::nullopt;

  // Target: a share `percentile` of the waits is at most this late, with as few
  // polls as that takes. Finite, above zero.
  std::optional<absl::Duration> max_lateness = std::nullopt;

  // Within (0, 1). Used by `max_lateness` alone.
  double percentile = 0.95;

  // Limit of what a wrong model costs. The first poll after the start comes at
  // the latest at 1 / (1 + max_relative_lateness) of the time of the first poll
  // that the model wants. From then on, a poll at t is followed by one at t *
  // (1 + max_relative_lateness) or earlier, so an end is found no later than
  // that. Above zero; infinite: no limit. Where the model decides in part, and
  // beyond all known durations, the delays are those of the curve or between.
  double max_relative_lateness = 1;

  // Number of durations from which on the model decides alone. Beyond two it
  // takes over gradually from the curves. Those without an end do not count,
  // and older ones count less, together as 92 at the most: with a larger
  // number, the model never decides alone. At least 3.
  int64_t min_observations = 8;

  // Share of the polls that come early, at a random part of their delay, so
  // that durations that have become shorter are noticed. It is this share of
  // the polls that is made in vain. Within [0, 0.5].
  double exploration = 0.01;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const LearnedDelaysOptions& options);

}  // namespace waiter

#endif  // WAITER_LEARNED_LEARNED_DELAYS_OPTIONS_H_
