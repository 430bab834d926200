// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The work of the calling thread for the workers of engines: whose rounds it
// runs, and which waits' functions it is inside. A thread may be inside
// several, because a callback may free another task and run another engine.
//
//   const WorkerThread::Scope rounds(&worker, &worker_sleeps);
//   {
//     const TaskScope inside(worker, record);
//     record.ops->poll(record.task.data(), step);
//   }
//
// Invariants:
//  * The end of a scope restores what its beginning found, so scopes nest.
//  * `TaskScope::IsInside` is true exactly while a function of the wait, one of
//    its hooks, or a destructor of their captures is on the thread's stack,
//    except within a `Pause`.

#ifndef WAITER_ENGINE_WORKER_THREAD_H_
#define WAITER_ENGINE_WORKER_THREAD_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "waiter/internal/blocked_engine.h"

namespace waiter::internal {

class EngineWorker;
struct EngineRecord;

// Ends the program with a message: an engine was used in a way that its
// documentation forbids.
[[noreturn]] void Die(const std::string& message);

class WorkerThread {
 public:
  // Returns the worker whose rounds the calling thread runs, or null.
  static EngineWorker* current() { return current_; }

  // Returns the worker whose `WaitEngineOptions::wake` runs on the thread, or
  // null.
  static const EngineWorker* waking() { return waking_; }

  // Until this is destroyed, the thread runs the rounds of `worker` (none if
  // null), and its sleeps in blocking waits are counted in `sleeps`.
  class [[nodiscard]] Scope {
   public:
    Scope(EngineWorker* worker, std::atomic<int64_t>* sleeps)
        : outer_(std::exchange(current_, worker)),
          outer_sleeps_(std::exchange(blocked_engine, sleeps)) {}
    ~Scope() {
      current_ = outer_;
      blocked_engine = outer_sleeps_;
    }

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    EngineWorker* const outer_;
    std::atomic<int64_t>* const outer_sleeps_;
  };

  // The thread is in `WaitEngineOptions::wake` of `worker` until the result is
  // destroyed.
  [[nodiscard]] static auto EnterWake(const EngineWorker& worker) {
    return absl::MakeCleanup(
        [outer = std::exchange(waking_, &worker)] { waking_ = outer; });
  }

 private:
  static constinit thread_local EngineWorker* current_;
  static constinit thread_local const EngineWorker* waking_;
};

// Says that the thread is inside the task of a record.
class [[nodiscard]] TaskScope {
 public:
  TaskScope(const EngineWorker& worker, const EngineRecord& record)
      : worker_(worker),
        record_(record),
        outer_(std::exchange(innermost_, this)) {}
  ~TaskScope() { innermost_ = outer_; }

  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  static bool IsInside(const EngineRecord& record);
  static bool IsInsideAnyOf(const EngineWorker& worker);

  // Returns the worker of the innermost task, or null.
  static const EngineWorker* worker() {
    return innermost_ == nullptr ? nullptr : &innermost_->worker_;
  }

  // The thread is outside of the innermost task until the result is destroyed.
  [[nodiscard]] static auto Pause() {
    return absl::MakeCleanup(
        [paused = std::exchange(innermost_, innermost_->outer_)] {
          innermost_ = paused;
        });
  }

 private:
  static constinit thread_local const TaskScope* innermost_;

  const EngineWorker& worker_;
  const EngineRecord& record_;
  const TaskScope* const outer_;
};

// Destroys the task of a record that the calling thread has claimed.
void FreeTask(const EngineWorker& worker, EngineRecord& record);

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_WORKER_THREAD_H_
