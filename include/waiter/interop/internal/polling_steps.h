// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A wait whose polls and sleeps are made by a loop of another library, which
// asks after each poll whether to continue and how long to sleep.

#ifndef WAITER_INTEROP_INTERNAL_POLLING_STEPS_H_
#define WAITER_INTEROP_INTERNAL_POLLING_STEPS_H_

#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "waiter/backoff.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

// Thread-compatible. Begins with the first call.
class PollingSteps {
 public:
  // Returns why `options` do not suit, or OK.
  static absl::Status Check(const WaitOptions& options);

  // `policy` must not be null.
  explicit PollingSteps(std::shared_ptr<const WaitPolicy> policy);

  // Ends the wait as cancelled if nothing has ended it.
  ~PollingSteps();
  PollingSteps(const PollingSteps&) = delete;
  PollingSteps& operator=(const PollingSteps&) = delete;

  const std::shared_ptr<const WaitPolicy>& policy() const { return policy_; }

  // Takes the answer of a poll. Returns whether another one follows.
  bool OnPoll(Poll<> found);

  // Returns the time to sleep now, rounded up. If no poll was reported since
  // the last call, one has found "not ready".
  std::chrono::milliseconds NextDelay();

 private:
  MonotonicTime Now() const;
  void Begin();
  void Take(Poll<> found);
  void Follow(NextStep step);

  std::shared_ptr<const WaitPolicy> policy_;
  SplitMix64 gen_;
  WaitReport report_;
  WaitLoop loop_;
  NextStep step_ = NextStep::Poll();
  bool has_begun_ = false;
  bool was_polled_ = false;  // Since the last `NextDelay`.
  std::chrono::milliseconds delay_{0};
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_POLLING_STEPS_H_
