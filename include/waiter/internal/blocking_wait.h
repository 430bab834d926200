// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The blocking driver of `WaitLoop`. `Waiter` (waiter.h) adds the types of the
// status function and of its value; users use that.

#ifndef WAITER_INTERNAL_BLOCKING_WAIT_H_
#define WAITER_INTERNAL_BLOCKING_WAIT_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "waiter/clock.h"
#include "waiter/internal/first_poll.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"

namespace waiter {
class PollNotifier;
}  // namespace waiter

namespace waiter::internal {

// Inputs of one wait besides its policy. If `gen` is unset, the wait seeds its
// own generator when it first draws a delay.
struct BlockingInputs {
  const waiter::stop_token& stop;
  std::optional<absl::BitGenRef> gen;
  bool takes_context;  // Whether the status function takes a `PollContext`.
  const PollNotifier* notifier = nullptr;
  const WaitToken* token = nullptr;  // The wait to continue; null: a new one.
};

// One call of a status function. `context` is null unless
// `BlockingInputs::takes_context`.
using BlockingPoll =
    absl::FunctionRef<void(const PollContext* context, Poll<>& found)>;

// Polls on the calling thread until the wait has ended, and fills in `report`.
// If `first_poll` is set, that poll was already made, and the wait continues
// after it. Exceptions of `poll` pass through.
void BlockingWait(const WaitPolicy& policy, const BlockingInputs& inputs,
                  std::optional<FirstPoll> first_poll, BlockingPoll poll,
                  WaitReport& report);

// The same, with a short cut for waits whose first poll succeeds: about 30 ns
// if there is no deadline.
template <typename PollFunction>
void BlockingWait(const WaitPolicy& policy, const BlockingInputs& inputs,
                  PollFunction& poll, WaitReport& report) {
  if (!policy.first_success_suffices() || inputs.takes_context ||
      inputs.notifier != nullptr || inputs.token != nullptr ||
      inputs.stop.stop_requested()) {
    BlockingWait(policy, inputs, std::nullopt, poll, report);
    return;
  }
  Clock& clock = policy.clock();
  FirstPoll first;
  if (policy.has_deadline()) {
    first.start = clock.MonotonicNow();
    first.deadline = policy.DeadlineFrom(first.start);
  } else {
    first.start = clock.MonotonicNowBefore(first.deadline);
  }
  poll(nullptr, report.last_poll);
  first.end = policy.NeedsExactTime(report.last_poll, /*has_slept=*/false)
                  ? clock.MonotonicNow()
                  : clock.MonotonicNowBefore(first.deadline);
  if (EndWithFirstPoll(policy, first, report)) return;
  BlockingWait(policy, inputs, first, poll, report);
}

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_BLOCKING_WAIT_H_
