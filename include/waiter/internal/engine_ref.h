// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Names one wait of a `WaitEngine` (wait_engine.h), for as long as anybody
// likes: after the wait has ended, and after its engine, it names nothing.

#ifndef WAITER_INTERNAL_ENGINE_REF_H_
#define WAITER_INTERNAL_ENGINE_REF_H_

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
  // Takes over the reference that a new worker comes with.
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

  EngineWorker* get() const { return worker_; }
  EngineWorker* operator->() const { return worker_; }

 private:
  void Release();

  EngineWorker* worker_ = nullptr;
};

// A wait. Records are used again; the generation tells whose turn it is.
struct EngineWaitRef {
  EngineWorkerRef worker;
  EngineRecord* record = nullptr;
  uint64_t generation = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_ENGINE_REF_H_
