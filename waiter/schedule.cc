// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cassert>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

std::vector<absl::Duration> DelaysOf(const WaitPolicy& policy,
                                     absl::BitGenRef gen, int64_t max_delays,
                                     const Poll<>& found) {
  const auto never = [] { return false; };
  std::vector<absl::Duration> delays;
  WaitReport report;
  WaitLoop loop(policy, report);
  MonotonicTime now{};
  NextStep step = loop.Start(now, policy.DeadlineFrom(now), never);
  bool polled = false;
  while (step.action() != NextStep::Action::kFinish &&
         std::ssize(delays) < max_delays) {
    if (step.action() == NextStep::Action::kSleep) {
      delays.push_back(absl::FromChrono(step.wake_up() - now));
      now = step.wake_up();
      step = loop.OnWake(now, never);
      polled = false;
      continue;
    }
    if (polled) delays.push_back(absl::ZeroDuration());
    polled = true;
    report.last_poll = found;
    step = loop.OnPoll(now, gen, never);
  }
  return delays;
}

}  // namespace

absl::StatusOr<std::vector<absl::Duration>> Schedule(WaitOptions options,
                                                     absl::BitGenRef gen,
                                                     int64_t max_delays,
                                                     const Poll<>& found) {
  options.hooks.observer = internal::Nobody();
  options.hooks.history_limit = 0;
  options.hooks.on_checkpoint = nullptr;
  if (options.delay_source != nullptr) {
    options.delay_source = options.delay_source.ForSimulation();
  }
  if (options.budgets.retry_quota != nullptr) {
    options.budgets.retry_quota =
        *RetryQuota::Make(options.budgets.retry_quota->options());
  }
  if (options.budgets.rate_limiter != nullptr) {
    options.budgets.rate_limiter = options.budgets.rate_limiter->MakeAlike();
  }
  const std::shared_ptr<const WaitPolicy> policy =
      WaitPolicy::Make(std::move(options));
  if (!policy->status().ok()) return policy->status();
  return DelaysOf(*policy, gen, max_delays, found);
}

std::vector<absl::Duration> Schedule(const WaitPolicy& policy,
                                     absl::BitGenRef gen, int64_t max_delays,
                                     const Poll<>& found) {
  assert(policy.status().ok() &&
         (!policy.keeps_details() || policy.delay_source() != nullptr) &&
         !policy.has_budgets());
  return DelaysOf(policy, gen, max_delays, found);
}

}  // namespace waiter
