// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Plans the wait of an assertion from its options, which
// `ScopedEventuallyDefaults` completes.

#ifndef WAITER_TESTING_EVENTUALLY_PLAN_H_
#define WAITER_TESTING_EVENTUALLY_PLAN_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal::eventually {

// The wait of an assertion.
struct Plan {
  WaitOptions wait = {};

  // Limits of EVENTUALLY: the requested one, the one in force, and the reason
  // if they differ.
  absl::Duration requested_limit = absl::InfiniteDuration();
  absl::Duration limit = absl::InfiniteDuration();
  std::string limit_reason = {};

  // How long stops of the program may be left out, and how long they were; see
  // `RunningClock`.
  absl::Duration max_stopped = absl::InfiniteDuration();
  absl::Duration stopped = absl::ZeroDuration();

  Clock* clock = nullptr;
  bool simulated = false;
};

// Returns `options`, in which each field that has its default comes from the
// youngest `ScopedEventuallyDefaults` that sets it, or nothing if none exists.
// Thread-safe.
std::optional<EventuallyOptions> CompleteOptions(
    Kind kind, const EventuallyOptions& options);

// Returns the plan. If options contradict each other or the limits of the test,
// returns kInvalidArgument with a message that says what to change.
absl::StatusOr<Plan> MakePlan(const Site& site,
                              const EventuallyOptions& options);

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_EVENTUALLY_PLAN_H_
