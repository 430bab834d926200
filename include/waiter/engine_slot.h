// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A place for a wait on a worker of a `WaitEngine` (wait_engine.h), between
// being taken and being started; given back if it is not.

#ifndef WAITER_ENGINE_SLOT_H_
#define WAITER_ENGINE_SLOT_H_

#include <memory>

#include "waiter/engine_ref.h"
#include "waiter/engine_task.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"

namespace waiter {

// Thread-compatible.
class EngineSlot {
 public:
  explicit EngineSlot(EngineWorker& worker);
  ~EngineSlot();

  EngineSlot(const EngineSlot&) = delete;
  EngineSlot& operator=(const EngineSlot&) = delete;

  // Where to create an `EngineTask`.
  void* storage();

  // Starts the wait, whose task has been created.
  WaitHandle Start(const EngineOps& ops,
                   std::shared_ptr<const WaitPolicy> policy) &&;

 private:
  EngineWorker& worker_;
  EngineRecord* record_;
};

}  // namespace waiter

#endif  // WAITER_ENGINE_SLOT_H_
