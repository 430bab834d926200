// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `WaitHandle` (engine/handle.h) that acts on the wait.

#ifndef WAITER_ENGINE_INTERNAL_WAIT_CANCELLER_H_
#define WAITER_ENGINE_INTERNAL_WAIT_CANCELLER_H_

#include "waiter/engine/internal/engine_ref.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// Refers to a wait without owning it; to none by default. A value of 32 bytes.
struct WaitCanceller {
  // Requests a stop, as `WaitHandle::Cancel` says. Code that the request wakes
  // may destroy this.
  void Cancel() const;

  // The parts of `Cancel`: no poll starts after the first, and the second
  // notifies the poll in progress.
  void EndPolls() const;
  void NotifyPoll() const;

  // Requests a poll, as `WaitHandle::PollNow` says.
  void PollNow() const;

  EngineWaitRef wait;
  // Has a state only if the status function takes a context.
  waiter::stop_source stop{waiter::nostopstate};
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_WAIT_CANCELLER_H_
