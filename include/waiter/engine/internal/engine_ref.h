// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// References to one wait of a `WaitEngine` (engine/engine.h), and to the memory
// in which an engine keeps its waits. A reference to a wait may outlive the
// wait and the engine; it then refers to nothing.

#ifndef WAITER_ENGINE_INTERNAL_ENGINE_REF_H_
#define WAITER_ENGINE_INTERNAL_ENGINE_REF_H_

#include <cstdint>
#include <utility>

namespace waiter::internal {

class EngineWorker;
struct EngineRecord;

// Shares ownership of the memory in which a worker of an engine keeps its
// waits, not of the worker's thread. 8 bytes.
class EngineWorkerRef {
 public:
  EngineWorkerRef() = default;
  explicit EngineWorkerRef(EngineWorker& worker);
  // Returns the owner of a reference that the worker counts: the first one, or
  // a handle.
  static EngineWorkerRef Adopt(EngineWorker& worker) {
    EngineWorkerRef ref;
    ref.worker_ = &worker;
    return ref;
  }
  EngineWorkerRef(const EngineWorkerRef& other);
  EngineWorkerRef(EngineWorkerRef&& other) noexcept
      : worker_(std::exchange(other.worker_, nullptr)) {}
  EngineWorkerRef& operator=(EngineWorkerRef other) noexcept {
    std::swap(worker_, other.worker_);
    return *this;
  }
  ~EngineWorkerRef() {
    if (worker_ != nullptr) Release();
  }

  // Gives the reference up, for something else that removes it.
  void Forget() { worker_ = nullptr; }

  EngineWorker* get() const { return worker_; }
  EngineWorker* operator->() const { return worker_; }

 private:
  void Release();

  EngineWorker* worker_ = nullptr;
};

// A reference to one wait. Records are reused, and each wait in a record has
// its own generation: if the record's generation is another one, the wait has
// ended.
struct EngineWaitRef {
  EngineWorkerRef worker;
  EngineRecord* record = nullptr;
  uint64_t generation = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_ENGINE_REF_H_
