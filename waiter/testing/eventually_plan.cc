// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/eventually_plan.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/options.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/internal/eventually_subject.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/testing/test_limits.h"
#include "waiter/text.h"

namespace waiter::internal::eventually {
namespace {

constexpr absl::Duration kDefaultTimeout = absl::Seconds(5);
constexpr absl::Duration kDefaultHold = absl::Milliseconds(100);

bool IsJittered(const Jitter& jitter) {
  return jitter.kind() == Jitter::Kind::kDecorrelated || jitter.below() > 0 ||
         jitter.above() > 0;
}

template <typename T>
void ReplaceIfSet(T& value, const T& replacement) {
  if (replacement != T()) value = replacement;
}

WaitOptions MakeWaitOptions(const Site& site,
                            const EventuallyOptions& options) {
  WaitOptions wait;
  if (options.policy.has_value()) {
    wait = *options.policy;
    wait.deadline.reset();
    wait.hooks.history_limit = 0;
  } else {
    wait.backoff = options.backoff;
    wait.errors.server_error_backoff = options.backoff;
    wait.errors.throttled_backoff = options.backoff;
  }
  wait.name = options.name;
  if (site.expression != nullptr) {
    absl::StrAppend(&wait.name, wait.name.empty() ? "" : ": ", site.expression);
  }
  if (options.delay_source != nullptr) wait.delay_source = options.delay_source;
  ReplaceIfSet(wait.timeout, options.timeout);
  ReplaceIfSet(wait.polls.first_delay, options.first_poll_delay);
  ReplaceIfSet(wait.hooks.observer, options.observer);
  ReplaceIfSet(wait.clock, options.clock);
  ReplaceIfSet(wait.hooks.seed, options.seed);
  if (options.hold_for.has_value()) wait.confirm.hold_for = *options.hold_for;
  wait.confirm.successes = options.successes_required == 1
                               ? wait.confirm.successes
                               : options.successes_required;
  if (!wait.hooks.seed.has_value() &&
      (IsJittered(wait.backoff.jitter) || options.policy.has_value())) {
    wait.hooks.seed = MakeSeededSplitMix64()();
  }
  return wait;
}

// Rejects a delay that is longer than the whole wait, as the test would poll
// less often than it says. The default delay is cut instead: the test did not
// set it.
absl::Status CheckDelay(const WaitOptions& wait, absl::string_view whole_name,
                        absl::Duration whole) {
  const absl::Duration delay = std::max<absl::Duration>(
      wait.backoff.initial_delay, MinDelay(wait.backoff));
  if (delay <= whole || whole <= absl::ZeroDuration() ||
      delay == EventuallyOptions().backoff.initial_delay) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the delay between polls, backoff.initial_delay of ",
                   absl::FormatDuration(delay), ", is longer than ", whole_name,
                   " of ", absl::FormatDuration(whole),
                   "; shorten the delay or lengthen ", whole_name));
}

absl::Status CheckFits(absl::string_view name, absl::Duration duration,
                       const TestLimits& limits) {
  if (duration <= limits.whole || duration == absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, " of ", absl::FormatDuration(duration),
      " is longer than the test itself may run, ",
      absl::FormatDuration(limits.whole),
      " (TEST_TIMEOUT minus the time to print a message); shorten ", name,
      ", or give the test a larger size or timeout"));
}

// Returns the time that is left of the whole test.
absl::Duration Left(const TestLimits& limits) {
  return std::max(limits.whole - ProgramAge(), absl::ZeroDuration());
}

absl::Status PlanEventually(const TestLimits& limits, Plan& plan) {
  WaitOptions& wait = plan.wait;
  const absl::Duration requested =
      std::max(wait.timeout.value_or(limits.timeout.value_or(kDefaultTimeout)),
               absl::ZeroDuration());
  if (wait.confirm.hold_for > requested) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hold_for of ", absl::FormatDuration(wait.confirm.hold_for),
        " is longer than the timeout of ", absl::FormatDuration(requested),
        "; shorten hold_for or lengthen the timeout"));
  }
  if (absl::Status status = CheckDelay(wait, "the timeout", requested);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckFits("the timeout", requested, limits);
      !status.ok()) {
    return status;
  }
  plan.requested_limit = plan.limit = requested;
  if (limits.scale != 1) {
    plan.limit = requested * limits.scale;
    plan.limit_reason = limits.scaled_by;
  }
  if (limits.whole < absl::InfiniteDuration()) {
    const absl::Duration left = Left(limits);
    if (plan.limit > left) {
      plan.limit = left;
      plan.limit_reason = "the rest of TEST_TIMEOUT";
    }
    plan.max_stopped = left - plan.limit;
  }
  if (plan.limit == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        "the timeout is infinite, and there is no TEST_TIMEOUT to end the wait "
        "before it; set a timeout");
  }
  wait.timeout = plan.limit;
  return absl::OkStatus();
}

// Plans a wait that needs no limit except the test's own, as every poll either
// confirms it or ends it.
absl::Status PlanConsistently(const EventuallyOptions& options,
                              const TestLimits& limits, Plan& plan) {
  WaitOptions& wait = plan.wait;
  if (options.timeout.has_value()) {
    return absl::InvalidArgumentError(
        "timeout is for EVENTUALLY; set hold_for, the time for which every "
        "poll must agree");
  }
  if (options.retry_exceptions) {
    return absl::InvalidArgumentError(
        "retry_exceptions is for EVENTUALLY; here every poll must agree");
  }
  if (!options.hold_for.has_value() && wait.confirm.successes == 1) {
    wait.confirm.hold_for = limits.hold_for.value_or(kDefaultHold);
  }
  if (options.hold_for.value_or(kDefaultHold) <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("hold_for of ", absl::FormatDuration(*options.hold_for),
                     " is too short for two polls; lengthen it"));
  }
  if (wait.confirm.hold_for > absl::ZeroDuration()) {
    if (absl::Status status =
            CheckDelay(wait, "hold_for", wait.confirm.hold_for);
        !status.ok()) {
      return status;
    }
    if (absl::Status status =
            CheckFits("hold_for", wait.confirm.hold_for, limits);
        !status.ok()) {
      return status;
    }
  }
  wait.timeout =
      limits.whole == absl::InfiniteDuration() ? limits.whole : Left(limits);
  plan.max_stopped =
      std::max(*wait.timeout - wait.confirm.hold_for, absl::ZeroDuration());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Site& site,
                              const EventuallyOptions& options) {
  Plan plan;
  plan.wait = MakeWaitOptions(site, options);
  plan.clock = plan.wait.clock != nullptr ? plan.wait.clock : &GetRealClock();
  plan.simulated = dynamic_cast<SimulatedClock*>(plan.clock) != nullptr;
  TestLimits limits;
  if (!plan.simulated) {
    absl::StatusOr<TestLimits> read = ReadTestLimits(GetTestEnvironment());
    if (!read.ok()) return read.status();
    limits = *std::move(read);
  }
  if (options.history_lines < 0) {
    return InvalidOption("history_lines", options.history_lines, "at least 0");
  }
  absl::Status status = MustHold(site.kind)
                            ? PlanConsistently(options, limits, plan)
                            : PlanEventually(limits, plan);
  if (status.ok()) status = Validate(plan.wait);
  if (status.ok() && plan.simulated &&
      std::max<absl::Duration>(plan.wait.backoff.initial_delay,
                               MinDelay(plan.wait.backoff)) ==
          absl::ZeroDuration()) {
    status = absl::InvalidArgumentError(
        "polls without delay do not move a SimulatedClock; set "
        "backoff.initial_delay above zero");
  }
  if (!status.ok()) return status;
  return plan;
}

}  // namespace waiter::internal::eventually
