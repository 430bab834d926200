// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The number of references that keep the memory of a worker: from its engine,
// from each handle, and from polls in progress.
//
// A start does not touch the atomic count, which begins with more than all
// handles can need. The worker counts handles in a plain number, which replaces
// the surplus when the engine ends. The reference of a handle that was detached
// is removed at the end of its wait.
//
// Invariant: until `Settle`, no removal is the last one. After it, the last
// removal leaves no engine, handle or poll that refers to the worker.

#ifndef WAITER_ENGINE_WORKER_REFERENCES_H_
#define WAITER_ENGINE_WORKER_REFERENCES_H_

#include <atomic>
#include <cstdint>

namespace waiter::internal {

class WorkerReferences {
 public:
  // For any thread.

  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }
  // Returns true if that was the last reference.
  [[nodiscard]] bool Remove() {
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  // For the worker's thread.

  // Counts the handle of a wait that the worker takes over.
  void CountHandle() { ++handles_; }
  // Removes the reference of a handle that was detached before its wait ended.
  void RemoveDetached() { --handles_; }

  // For the thread that ends the worker, whose thread has ended. The engine
  // still has its reference.
  void Settle() {
    count_.fetch_add(handles_ - kManyHandles, std::memory_order_acq_rel);
  }

 private:
  // More handles than a worker can have.
  static constexpr int64_t kManyHandles = int64_t{1} << 62;

  std::atomic<int64_t> count_ = kManyHandles + 1;
  int64_t handles_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_WORKER_REFERENCES_H_
