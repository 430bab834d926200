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
  internal::EngineWord word =
      wait_.record->word.load(std::memory_order_relaxed);
  while (internal::GenerationOf(word) == wait_.generation &&
         !wait_.record->word.compare_exchange_weak(
             word, word & ~internal::kHasHandle)) {
  }
  wait_ = {};
}

bool WaitHandle::pending() const {
  return wait_.worker.get() != nullptr &&
         internal::GenerationOf(wait_.record->word.load(
             std::memory_order_acquire)) == wait_.generation;
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
