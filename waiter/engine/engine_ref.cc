// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/internal/engine_ref.h"

#include "waiter/engine/engine_worker.h"

namespace waiter::internal {

EngineWorkerRef::EngineWorkerRef(EngineWorker& worker) : worker_(&worker) {
  worker.AddReference();
}

EngineWorkerRef::EngineWorkerRef(const EngineWorkerRef& other)
    : worker_(other.worker_) {
  if (worker_ != nullptr) worker_->AddReference();
}

void EngineWorkerRef::Release() { worker_->RemoveReference(); }

}  // namespace waiter::internal
