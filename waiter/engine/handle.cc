// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/handle.h"

#include <atomic>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_worker.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/wait_canceller.h"
#include "waiter/stop_token.h"
#include "waiter/token.h"

namespace waiter {
namespace internal {

void WaitCanceller::Cancel() const {
  // The poll in progress is notified last, so that its code finds the wait
  // cancelled. That code may destroy this.
  waiter::stop_source poll = stop;
  EndPolls();
  poll.request_stop();
}

void WaitCanceller::EndPolls() const {
  if (wait.worker.get() == nullptr) return;
  wait.worker->requests().Cancel(*wait.record, wait.generation);
}

void WaitCanceller::NotifyPoll() const {
  waiter::stop_source poll = stop;
  poll.request_stop();
}

void WaitCanceller::PollNow() const {
  if (wait.worker.get() == nullptr) return;
  wait.worker->requests().PollNow(*wait.record, wait.generation);
}

}  // namespace internal

void WaitHandle::Suspend(absl::AnyInvocable<void(WaitToken)> suspended) {
  const internal::EngineWaitRef& wait = wait_.wait;
  if (wait.worker.get() == nullptr) return;
  wait.worker->requests().Suspend(*wait.record, wait.generation,
                                  std::move(suspended));
}

void WaitHandle::Detach() {
  internal::EngineWaitRef wait = std::exchange(wait_, {}).wait;
  if (wait.worker.get() == nullptr) return;
  // The end of the wait then removes the reference.
  if (wait.record->gate.Detach(wait.generation)) wait.worker.Forget();
}

bool WaitHandle::pending() const {
  const internal::EngineWaitRef& wait = wait_.wait;
  return wait.worker.get() != nullptr &&
         wait.record->gate.IsOpen(wait.generation);
}

void WaitHandle::Destroy() {
  if (wait_.wait.worker.get() == nullptr) return;
  const bool was_pending = pending();
  internal::WaitCanceller wait = std::exchange(wait_, {});
  if (!was_pending || wait.wait.worker->IsGone()) return;
  if (wait.stop.stop_possible()) {
    // The notified poll may answer immediately, and must not end the wait.
    wait.wait.record->gate.Forbid(wait.wait.generation);
    wait.stop.request_stop();
  }
  wait.wait.worker->requests().Abandon(*wait.wait.record, wait.wait.generation);
}

}  // namespace waiter
