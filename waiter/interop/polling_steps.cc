// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/polling_steps.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {
namespace {

using Action = NextStep::Action;

bool NeverStop() { return false; }

}  // namespace

absl::Status PollingSteps::Check(const WaitOptions& options) {
  if (options.budgets.rate_limiter != nullptr) {
    return absl::InvalidArgumentError(
        "rate_limiter must not be set: this loop asks only after its polls, so "
        "a limiter cannot delay the first one");
  }
  return Validate(options);
}

PollingSteps::PollingSteps(std::shared_ptr<const WaitPolicy> policy)
    : policy_(std::move(policy)),
      gen_(policy_->options().hooks.seed.has_value()
               ? SplitMix64(*policy_->options().hooks.seed)
               : MakeSeededSplitMix64()),
      loop_(*policy_, report_) {}

PollingSteps::~PollingSteps() {
  if (has_begun_ && step_.action() != Action::kFinish) {
    loop_.End(Now(), StopReason::kCancelled, /*unanswered=*/false);
  }
}

MonotonicTime PollingSteps::Now() const {
  return policy_->clock().MonotonicNow();
}

void PollingSteps::Begin() {
  if (std::exchange(has_begun_, true)) return;
  const MonotonicTime now = Now();
  Follow(loop_.Start(now, policy_->DeadlineFrom(now), NeverStop));
}

void PollingSteps::Follow(NextStep step) {
  step_ = step;
  if (step_.action() == Action::kFinish) {
    policy_->CallOnFailureAfter(loop_.name(), report_);
  }
}

void PollingSteps::Take(Poll<> found) {
  if (step_.action() == Action::kSleep) Follow(loop_.OnWake(Now(), NeverStop));
  if (step_.action() == Action::kPoll) {
    report_.last_poll = std::move(found);
    Follow(loop_.OnPoll(Now(), gen_, NeverStop));
  }
}

bool PollingSteps::OnPoll(Poll<> found) {
  Begin();
  Take(std::move(found));
  was_polled_ = true;
  return step_.action() != Action::kFinish;
}

std::chrono::milliseconds PollingSteps::NextDelay() {
  const bool is_first = !has_begun_;
  Begin();
  // The first sleep may be the `first_poll_delay`.
  const bool is_first_sleep = is_first && step_.action() == Action::kSleep;
  if (!is_first_sleep && !was_polled_) Take(NotReady());
  was_polled_ = false;
  if (step_.action() == Action::kSleep) {
    delay_ = std::max(
        std::chrono::ceil<std::chrono::milliseconds>(step_.wake_up() - Now()),
        std::chrono::milliseconds::zero());
  } else if (step_.action() == Action::kPoll) {
    delay_ = std::chrono::milliseconds::zero();
  }
  return delay_;
}

}  // namespace waiter::internal
