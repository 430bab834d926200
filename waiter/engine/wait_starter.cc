// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/internal/wait_starter.h"

#include <atomic>
#include <memory>
#include <utility>

#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_worker.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/internal/exceptions.h"
#include "waiter/policy.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

WaitStarter::WaitStarter(EngineWorker& worker)
    : worker_(worker), record_(&worker.Allocate()) {}

WaitStarter::~WaitStarter() {
  if (record_ != nullptr) worker_.GiveBack(*record_);
}

void* WaitStarter::storage() { return record_->task.data(); }

WaitHandle WaitStarter::MakeHandle(const EngineOps& ops) {
  waiter::stop_source stop(waiter::nostopstate);
  if (ops.takes_context) {
    WAITER_TRY { stop = waiter::stop_source(); }
    WAITER_CATCH(...) {
      ops.destroy(storage());
      WAITER_RETHROW;
    }
  }
  record_->ops = &ops;
  const Generation generation = record_->gate.OpenWithHandle();
  stop_ = stop;
  // The worker counts it when the wait begins.
  return WaitHandle({{EngineWorkerRef::Adopt(worker_), record_, generation},
                     std::move(stop)});
}

void WaitStarter::Start(std::shared_ptr<const WaitPolicy> policy) {
  worker_.Start(*std::exchange(record_, nullptr),
                {std::move(policy), std::move(stop_)});
}

}  // namespace waiter::internal
