// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/wait_handle.h"

#include <atomic>

#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_worker.h"

namespace waiter {

void WaitHandle::Cancel() {
  if (wait_.worker.get() == nullptr) return;
  stop_.request_stop();
  wait_.worker->Cancel(*wait_.record, wait_.generation);
}

void WaitHandle::Detach() {
  if (wait_.worker.get() == nullptr) return;
  wait_.record->gate.Detach(wait_.generation);
  wait_ = {};
}

bool WaitHandle::pending() const {
  return wait_.worker.get() != nullptr &&
         wait_.record->gate.IsOpen(wait_.generation);
}

void WaitHandle::Destroy() {
  if (wait_.worker.get() == nullptr) return;
  if (pending()) {
    stop_.request_stop();
    wait_.worker->Abandon(*wait_.record, wait_.generation);
  }
  wait_ = {};
}

}  // namespace waiter
