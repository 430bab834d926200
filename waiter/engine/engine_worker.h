// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One thread's share of a `WaitEngine`: the driver of `WaitLoop` for very many
// waits. Only its thread touches them. The parts keep the state, and the header
// of each has its guarantees:
//
//   EngineRequests   requests of other threads and of the waits themselves
//   WaitStepper      the steps of one wait
//   ExecutorBridge   the polls on the user's executor
//   WorkerShutDown   the end
//
// The worker has the order of a round: requests, new waits, waits that are
// ready, timers.

#ifndef WAITER_ENGINE_ENGINE_WORKER_H_
#define WAITER_ENGINE_ENGINE_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_counters.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_requests.h"
#include "waiter/engine/executor_bridge.h"
#include "waiter/engine/record_pool.h"
#include "waiter/engine/wait_stepper.h"
#include "waiter/engine/wait_timers.h"
#include "waiter/engine/worker_references.h"
#include "waiter/engine/worker_shut_down.h"
#include "waiter/internal/thread.h"

namespace waiter::internal {

class EngineWorker {
 public:
  // `ordinal` distinguishes the workers of an engine, from 0. `engine_ends`
  // becomes true before `BeginShutDown` of any of them is called.
  EngineWorker(const WaitEngineOptions& options, int ordinal,
               std::shared_ptr<const std::atomic<bool>> engine_ends);

  // Returns the worker whose thread this is. On another thread that is inside a
  // function of a wait, returns the worker of that wait; otherwise null.
  static const EngineWorker* Current();

  // Returns how often a blocking wait has slept on the worker's thread.
  int64_t blocking_sleeps() const {
    return blocking_sleeps_.load(std::memory_order_relaxed);
  }

  // Any thread may call the following.

  void AddStatistics(EngineStatistics& sum) const { counters_.AddTo(sum); }

  void AddReference() { references_.Add(); }
  void RemoveReference() {
    if (references_.Remove()) delete this;
  }

  EngineRecord& Allocate();
  void GiveBack(EngineRecord& record) { pool_.GiveBack(record); }
  // The handle of the wait has a reference. The handle removes it, or the end
  // of the wait does if the handle was detached before. The caller may free the
  // worker's last reference as soon as the wait ends, even before this call
  // returns.
  void Start(EngineRecord& record, PendingStart pending_start);
  // Instead of `Start`, for many waits: `Prepare` for each, which the calling
  // thread may undo, then `requests().StartAll`.
  void Prepare(EngineRecord& record, PendingStart pending_start);
  // Takes the first record out of a queue that is not empty.
  EngineRecord& Pop(EngineQueue& waits) const;
  EngineRequests& requests() { return requests_; }
  // Returns whether this is a copy in a child process, without its thread.
  bool IsGone() const { return thread_.IsGone(); }

  // Only the worker's thread may call the following. It is the thread of
  // `StartThread` or, without that, one thread at a time.

  void StartThread();
  void Run();
  MonotonicTime RunDue();

  // The end of the worker, in the order of these calls, by the destructor of
  // the engine. Waits and their functions may start waits until the last.

  // Terminates the program with a message if this thread is inside a function
  // of one of the worker's waits.
  void RequireOutside() const;
  // Ends all waits, including later ones, and requests a stop of the poll in
  // progress. Does not call `WaitEngineOptions::wake`.
  void BeginShutDown();
  // Blocks until no wait is left. Returns whether there was one, or any request
  // of another thread, since the last call.
  bool AwaitShutDown();
  // Ends the thread. Afterwards the clock is no longer read, and `wake` not
  // called. Before this call, no removal of a reference deletes the worker.
  void EndShutDown();

 private:
  ~EngineWorker() = default;

  WorkerThread::Scope Enter();
  void RequireNoThread() const;
  void Drive(bool until_shut_down);

  // Does everything that is due. Returns when the next round is due; `max()` if
  // only mail makes one due. Running out of memory terminates the program.
  MonotonicTime RunRound() noexcept;
  template <typename RecordAt>
  void PrefetchAhead(size_t place, size_t size, RecordAt record_at) const;
  void FetchMail();
  void ProcessOwn();
  void Process(EngineMail& mail);
  void ProcessHandles(EngineMail& mail);
  void Suspend(std::unique_ptr<SuspendRequest> request);
  void LookAtAll();
  void BeginNew();
  void PollReady();
  void FireTimers();
  void ProcessLateMail();
  template <typename Body>
  void ForEachPending(Body body);

  std::atomic<int64_t> blocking_sleeps_ = 0;
  EngineCounters counters_;
  WorkerReferences references_;
  RecordPool pool_;
  WorkerShutDown shut_down_;
  EngineRequests requests_;
  ExecutorBridge executor_;

  // Members of the worker's thread.
  WaitStepper stepper_;
  Thread thread_;
  EngineQueue new_waits_;  // Taken from the mailbox, and not begun yet.
  std::vector<WaitTimers::Timer> due_;
  std::vector<WaitRef> polling_;
  bool in_round_ = false;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_ENGINE_WORKER_H_
