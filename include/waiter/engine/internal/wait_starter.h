// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Start of a wait on a worker of a `WaitEngine` (engine/engine.h):
//
//   WaitStarter starter(worker);
//   Task::Create(starter.storage(), std::move(adapter), std::move(callback));
//   WaitHandle wait = starter.MakeHandle(Task::kOps);
//   starter.Start(std::move(policy));

#ifndef WAITER_ENGINE_INTERNAL_WAIT_STARTER_H_
#define WAITER_ENGINE_INTERNAL_WAIT_STARTER_H_

#include <memory>

#include "waiter/engine/handle.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/internal/engine_task.h"
#include "waiter/policy.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// Owns a record for the wait until `Start`. Thread-compatible. Each function
// must be called once, in this order. If an exception ends the sequence,
// `MakeHandle` included, the task is destroyed and the record goes back to the
// worker; after `MakeHandle`, nothing may throw.
class WaitStarter {
 public:
  explicit WaitStarter(EngineWorker& worker);
  ~WaitStarter();

  WaitStarter(const WaitStarter&) = delete;
  WaitStarter& operator=(const WaitStarter&) = delete;

  // Returns the place in which to create an `EngineTask`.
  void* storage();

  // Returns the handle of the wait, by which it can be cancelled from now on.
  WaitHandle MakeHandle(const EngineOps& ops);

  // Starts the wait. From now on its callback may run, on the engine's thread.
  void Start(std::shared_ptr<const WaitPolicy> policy);

 private:
  EngineWorker& worker_;
  EngineRecord* record_;
  waiter::stop_source stop_{waiter::nostopstate};
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_WAIT_STARTER_H_
