// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The blocking driver of `WaitLoop`, for `Waiter` (waiter.h), which adds the
// types: use that.

#ifndef WAITER_BLOCKING_WAIT_H_
#define WAITER_BLOCKING_WAIT_H_

#include <optional>
#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/random/bit_gen_ref.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"

namespace waiter {

// One call of a status function. `context` is null unless it was asked for.
using BlockingPoll =
    absl::FunctionRef<void(const PollContext* context, Poll<>& found)>;

// Polls on the calling thread until the wait is over, and fills in `report`.
// Without `gen`, seeds a generator of its own when the first delay is drawn.
// Exceptions of `poll` pass through.
void BlockingWait(const WaitPolicy& policy, const std::stop_token& stop,
                  std::optional<absl::BitGenRef> gen, bool takes_context,
                  BlockingPoll poll, WaitReport& report);

}  // namespace waiter

#endif  // WAITER_BLOCKING_WAIT_H_
