// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The delays of a wait before it is made, for tables, plots and docs.
//
//   waiter::SplitMix64 gen(42);
//   absl::StatusOr<std::vector<absl::Duration>> delays =
//       waiter::Schedule({.timeout = absl::Minutes(5)}, gen);

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
// all find `found`, at most `max_delays` of them: the very delays that a wait
// sleeps with the same options and generator, zeros included. Observer and
// history are left out. An error is that of `Validate(options)`.
absl::StatusOr<std::vector<absl::Duration>> Schedule(
    WaitOptions options, absl::BitGenRef gen, int64_t max_delays = 1000,
    const Poll<>& found = PollStatus::kNotReady);

// The same for many schedules of one policy, which is then made once. Requires
// `policy.status().ok()`, no observer and no history.
std::vector<absl::Duration> Schedule(
    const WaitPolicy& policy, absl::BitGenRef gen, int64_t max_delays = 1000,
    const Poll<>& found = PollStatus::kNotReady);

}  // namespace waiter

#endif  // WAITER_SCHEDULE_H_
