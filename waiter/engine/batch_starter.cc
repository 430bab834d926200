// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/internal/batch_starter.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_worker.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/task_gate.h"
#include "waiter/internal/exceptions.h"
#include "waiter/policy.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

BatchStarter::BatchStarter(std::vector<Part> parts)
    : parts_(std::move(parts)) {}

BatchStarter::~BatchStarter() {
  if (parts_.empty()) return;
  if (next_ != nullptr) parts_[part_].worker->GiveBack(*next_);
  for (const Part& part : parts_) {
    EngineQueue waits = {part.first, part.last};
    while (!waits.empty()) {
      EngineRecord& record = part.worker->Pop(waits);
      // For the handle, as the worker counts only handles of waits that start.
      part.worker->AddReference();
      std::destroy_at(&PendingStartOf(record));
      record.ops->destroy(record.task.data());
      record.gate.Close();
      part.worker->GiveBack(record);
    }
  }
}

void* BatchStarter::NextStorage() {
  if (next_ == nullptr) next_ = &parts_[part_].worker->Allocate();
  return next_->task.data();
}

WaitHandle BatchStarter::Add(const EngineOps& ops,
                             std::shared_ptr<const WaitPolicy> policy) {
  waiter::stop_source stop(waiter::nostopstate);
  WAITER_TRY {
    if (ops.takes_context) stop = waiter::stop_source();
  }
  WAITER_CATCH(...) {
    ops.destroy(next_->task.data());
    WAITER_RETHROW;
  }
  Part& part = parts_[part_];
  EngineRecord& record = *std::exchange(next_, nullptr);
  record.ops = &ops;
  part.worker->Prepare(record, {std::move(policy), stop});
  EngineQueue waits = {part.first, part.last};
  waits.Push(record);
  part.first = waits.first;
  part.last = waits.last;
  if (++added_ == part.size) {
    added_ = 0;
    ++part_;
  }
  const Generation generation = record.gate.OpenWithHandle();
  return WaitHandle(
      {{EngineWorkerRef::Adopt(*part.worker), &record, generation},
       std::move(stop)});
}

void BatchStarter::Start() {
  // A wait may end, and with the last one the engine, before this returns.
  const std::vector<Part> parts = std::exchange(parts_, {});
  for (const Part& part : parts) {
    part.worker->requests().StartAll({part.first, part.last});
  }
}

}  // namespace waiter::internal
