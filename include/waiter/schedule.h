// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

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
// The loop that drives every wait computes the schedule, so the schedule holds
// for all of them: limits, last poll and delay rules included.

#ifndef WAITER_SCHEDULE_H_
#define WAITER_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/wait_policy.h"

namespace waiter {

// Returns the delays between the polls of a wait whose polls take no time and
// all find `found`, at most `max_delays` of them. These are the delays that a
// wait with the same options and generator sleeps, zeros included, in order; a
// `first_poll_delay` comes first. If `options` are invalid, returns the error
// of `Validate`.
//
// Ignores the observer, the history and `on_checkpoint` of the options. In
// place of budgets that other waits may share, uses full ones with the same
// options. Learned delays learn nothing from it. Never sleeps, and takes time
// in proportion to the number of delays. Reads the wall clock only for an
// absolute `deadline`.
absl::StatusOr<std::vector<absl::Duration>> Schedule(
    WaitOptions options, absl::BitGenRef gen, int64_t max_delays = 1000,
    const Poll<>& found = PollStatus::kNotReady);

// The same for a policy, for callers that compute many schedules of one policy.
// Requires `policy.status().ok()` and nothing of what the other ignores or
// replaces. Learned delays must be without recording.
// Thread-safe, if each thread has a generator of its own.
std::vector<absl::Duration> Schedule(
    const WaitPolicy& policy, absl::BitGenRef gen, int64_t max_delays = 1000,
    const Poll<>& found = PollStatus::kNotReady);

}  // namespace waiter

#endif  // WAITER_SCHEDULE_H_
