// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A polling policy of google-cloud-cpp that decides by the options of a wait
// (interop/google_cloud.h).

#ifndef WAITER_INTEROP_INTERNAL_GOOGLE_POLLING_POLICY_H_
#define WAITER_INTEROP_INTERNAL_GOOGLE_POLLING_POLICY_H_

#include <chrono>
#include <memory>
#include <utility>

#include "waiter/interop/internal/polling_steps.h"
#include "waiter/policy.h"
#include "waiter/poll.h"

namespace waiter::internal {

// Derives from `Policy` of the library. `Answer` makes a `Poll<>` of the status
// of a poll that was not OK.
template <typename Policy, typename Status, typename Answer>
class GooglePollingPolicy final : public Policy {
 public:
  GooglePollingPolicy(std::shared_ptr<const WaitPolicy> policy, Answer answer)
      : steps_(std::move(policy)), answer_(std::move(answer)) {}

  std::unique_ptr<Policy> clone() const override {
    return std::make_unique<GooglePollingPolicy>(steps_.policy(), answer_);
  }
  bool OnFailure(const Status& status) override {
    return steps_.OnPoll(status.ok() ? NotReady() : answer_(status));
  }
  std::chrono::milliseconds WaitPeriod() override { return steps_.NextDelay(); }

 private:
  PollingSteps steps_;
  Answer answer_;
};

// Returns the type of the status that a polling policy takes.
template <typename Policy, typename Status>
Status StatusTakenBy(bool (Policy::*)(const Status&));

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_GOOGLE_POLLING_POLICY_H_
