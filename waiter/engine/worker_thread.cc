// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/worker_thread.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "waiter/engine/engine_record.h"
#include "waiter/engine/internal/engine_step.h"

namespace waiter::internal {

constinit thread_local EngineWorker* WorkerThread::current_ = nullptr;
constinit thread_local const EngineWorker* WorkerThread::waking_ = nullptr;
constinit thread_local const TaskScope* TaskScope::innermost_ = nullptr;

void Die(const std::string& message) {
  std::fprintf(stderr, "waiter: %s\n", message.c_str());
  std::abort();
}

bool TaskScope::IsInside(const EngineRecord& record) {
  for (const TaskScope* scope = innermost_; scope != nullptr;
       scope = scope->outer_) {
    if (&scope->record_ == &record) return true;
  }
  return false;
}

bool TaskScope::IsInsideAnyOf(const EngineWorker& worker) {
  for (const TaskScope* scope = innermost_; scope != nullptr;
       scope = scope->outer_) {
    if (&scope->worker_ == &worker) return true;
  }
  return false;
}

void FreeTask(const EngineWorker& worker, EngineRecord& record) {
  const TaskScope scope(worker, record);
  record.ops->destroy(record.task.data());
}

}  // namespace waiter::internal
