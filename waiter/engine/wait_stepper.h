// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The steps of one wait on a worker, and the order of their effects:
//
//   Start -> Poll -> Decide -> Sleep -> Poll -> Decide -> ... -> Finish
//
// Any step may be the last. From outside, `Cancel`, `ShutDown` and `Expire` end
// a wait with a callback, `Suspend` hands out its state instead, and `Abandon`
// does neither. `WaitLoop` decides; this runs the functions of the wait and
// sets its timer.
//
// Invariants:
//  * Functions and hooks of a wait run inside its gate and a `TaskScope`.
//  * Between two steps the record holds the whole state of the wait. The wait
//    is then in exactly one place: among the ready ones, under a timer or
//    asleep forever, with a poll whose answer comes as a request, or held for a
//    suspension that was requested.
//  * A wait is released once, after its callback has returned, if it has one.

#ifndef WAITER_ENGINE_WAIT_STEPPER_H_
#define WAITER_ENGINE_WAIT_STEPPER_H_

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/engine_counters.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/engine_requests.h"
#include "waiter/engine/executor_bridge.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/pending_waits.h"
#include "waiter/engine/poll_clock.h"
#include "waiter/engine/record_pool.h"
#include "waiter/engine/wait_timers.h"
#include "waiter/engine/worker_references.h"
#include "waiter/engine/worker_shut_down.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

class EngineWorker;

// For the worker's thread. Calls that take a record require that it is
// registered, except `Start`. The arguments of the constructor must outlive
// this.
class WaitStepper {
 public:
  struct Parts {
    EngineWorker& worker;  // For tickets and scopes alone.
    RecordPool& pool;
    EngineCounters& counters;
    WorkerReferences& references;
    WorkerShutDown& shut_down;
    ExecutorBridge& executor;
  };

  // `seed` is for the generator of waits whose policy has no seed.
  WaitStepper(const Parts& parts, const WaitEngineOptions& options,
              Clock& clock, uint64_t seed);

  WaitStepper(const WaitStepper&) = delete;
  WaitStepper& operator=(const WaitStepper&) = delete;

  PollClock& poll_clock() { return poll_clock_; }
  WaitTimers& timers() { return timers_; }

  // The waits whose next step is due in the next round.
  std::vector<WaitRef>& ready() { return ready_; }

  // Registers the wait of a start, and takes its first step unless the worker
  // shuts down.
  void Start(EngineRecord& record);
  // Takes the step that is due, unless the wait was abandoned or is to be
  // suspended.
  void Step(EngineRecord& record);
  // Takes an answer if its poll is still in progress.
  void Answer(EngineAnswer& answer);
  // Ends a sleep early if a poll was requested.
  void Notify(EngineRecord& record);
  // Ends the wait if its poll is not awaited beyond the deadline.
  void Expire(EngineRecord& record);
  void Cancel(EngineRecord& record) { End(record, StopReason::kCancelled); }
  void ShutDown(EngineRecord& record) { End(record, StopReason::kShutDown); }
  // Ends the wait of `request`, which is pending, and calls its function with
  // the state. If a poll on the executor has begun, its answer comes first.
  void Suspend(std::unique_ptr<SuspendRequest> request);
  // Ends a wait whose task has been freed, or claimed. Only observers and
  // budgets learn of it.
  void Abandon(EngineRecord& record, StopReason reason);

 private:
  friend class EngineStep;

  template <typename Body>
  void WithLoop(EngineRecord& record, Body body);
  void StepAny(EngineRecord& record);
  void StepPlain(EngineRecord& record);
  bool BeginPlain(EngineRecord& record);
  NextStep Begin(EngineStep& step);
  void Execute(EngineStep& step);
  void Poll(EngineStep& step);
  void PollWithContext(EngineStep& step);
  void PollOnExecutor(EngineStep& step);
  void CallStatusFunction(EngineStep& step);
  PollContext ContextOf(EngineStep& step);
  void Decide(EngineStep& step);
  NextStep DecideAny(EngineStep& step);
  NextStep DecidePlain(EngineStep& step);
  GivenOrOwnGen<SplitMix64> OwnGen();
  void OnException(EngineStep& step, std::exception_ptr exception);
  void Park(EngineStep& step);
  void Sleep(EngineRecord& record, NextStep next,
             const WaitLoop& loop) noexcept;
  bool ShortenSleep(EngineStep& step);
  WaitToken Save(EngineStep& step);
  void End(EngineRecord& record, StopReason reason);
  void Finish(EngineStep& step);
  void CallOnFailure(EngineStep& step);
  void LeaveTask(EngineRecord& record);
  void Release(EngineRecord& record);

  EngineWorker& worker_;
  EngineCounters& counters_;
  WorkerShutDown& shut_down_;
  ExecutorBridge& executor_;
  Clock& clock_;
  const bool has_executor_;
  const bool exact_polls_;  // Each poll has its own reading of the clock.
  std::optional<absl::BitGenRef> gen_;
  const std::function<void(std::exception_ptr)> on_callback_exception_;
  PollClock poll_clock_;
  PendingWaits waits_;
  WaitTimers timers_;
  std::vector<WaitRef> ready_;
  SplitMix64 own_gen_;
  // How much earlier than shared instants random delays end. Unset: they end at
  // any time.
  std::optional<std::chrono::nanoseconds> phase_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_WAIT_STEPPER_H_
