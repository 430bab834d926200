// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// From the options of an assertion to those of its wait.

#ifndef WAITER_TESTING_EVENTUALLY_PLAN_H_
#define WAITER_TESTING_EVENTUALLY_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/testing/eventually_options.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal::eventually {

struct Plan {
  WaitOptions wait = {};

  // Of EVENTUALLY: what was asked for, and what came of it and why, if that is
  // something else.
  absl::Duration asked_limit = absl::InfiniteDuration();
  absl::Duration limit = absl::InfiniteDuration();
  std::string limit_reason = {};

  Clock* clock = nullptr;
  bool simulated = false;
};

// Returns kInvalidArgument, with what to do, for options that cannot be meant.
absl::StatusOr<Plan> MakePlan(const Site& site,
                              const EventuallyOptions& options);

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_EVENTUALLY_PLAN_H_
