// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Starts many waits together on the workers of a `WaitEngine`
// (engine/engine.h), with one request to each worker:
//
//   BatchStarter batch(workers);
//   for (...) {
//     Task::Create(batch.NextStorage(), std::move(adapter), callback);
//     waits.push_back(batch.Add(Task::kOps, std::move(policy)));
//   }
//   batch.Start();

#ifndef WAITER_ENGINE_INTERNAL_BATCH_STARTER_H_
#define WAITER_ENGINE_INTERNAL_BATCH_STARTER_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "waiter/engine/handle.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/policy.h"

namespace waiter::internal {

// Owns the records of the waits until `Start`. Thread-compatible. If an
// exception ends the sequence above, the destructor destroys the tasks and
// gives the records back to their workers. The handles then own nothing, so
// they must outlive this.
class BatchStarter {
 public:
  // The waits that go to one worker.
  struct Part {
    EngineWorker* worker = nullptr;
    size_t size = 0;
    EngineRecord* first = nullptr;
    EngineRecord* last = nullptr;
  };

  // Each part has a worker and a size above zero.
  explicit BatchStarter(std::vector<Part> parts);
  ~BatchStarter();

  BatchStarter(const BatchStarter&) = delete;
  BatchStarter& operator=(const BatchStarter&) = delete;

  // Returns the place in which to create the `EngineTask` of the next wait.
  void* NextStorage();

  // Adds the wait whose task was created last, and returns its handle.
  WaitHandle Add(const EngineOps& ops,
                 std::shared_ptr<const WaitPolicy> policy);

  // Starts the waits. From now on their callbacks may run.
  void Start();

 private:
  std::vector<Part> parts_;
  size_t part_ = 0;   // The part of the next wait.
  size_t added_ = 0;  // Number of waits that this part has.
  EngineRecord* next_ = nullptr;
};

// The callback of a wait of a batch, with the place of the wait.
template <typename Callback>
struct IndexedCallback {
  template <typename Result>
  void operator()(Result&& result) {
    callback(index, std::forward<Result>(result));
  }

  Callback callback;
  size_t index;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_BATCH_STARTER_H_
