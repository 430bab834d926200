// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A place for a wait on a worker of a `WaitEngine` (wait_engine.h), from being
// taken to being started:
//
//   waiter::WaitStarter slot(worker);
//   Task::Create(slot.storage(), std::move(adapter), std::move(callback));
//   waiter::WaitHandle wait = slot.MakeHandle(Task::kOps);
//   slot.Start(std::move(policy));

#ifndef WAITER_INTERNAL_WAIT_STARTER_H_
#define WAITER_INTERNAL_WAIT_STARTER_H_

#include <memory>
#include <stop_token>

#include "waiter/internal/engine_ref.h"
#include "waiter/internal/engine_step.h"
#include "waiter/internal/engine_task.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"

namespace waiter::internal {

// Thread-compatible. Each function is to be called once, in this order. What
// throws on the way gives the place back, but not after `MakeHandle`.
class WaitStarter {
 public:
  explicit WaitStarter(EngineWorker& worker);
  ~WaitStarter();

  WaitStarter(const WaitStarter&) = delete;
  WaitStarter& operator=(const WaitStarter&) = delete;

  // Where to create an `EngineTask`.
  void* storage();

  // From here on the wait can be cancelled.
  WaitHandle MakeHandle(const EngineOps& ops);

  // From here on the callback may come, on the engine's thread.
  void Start(std::shared_ptr<const WaitPolicy> policy);

 private:
  EngineWorker& worker_;
  EngineRecord* record_;
  std::stop_token stop_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_WAIT_STARTER_H_
