// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One step of a wait on its worker, as the callables of the wait see it, and
// what a worker can do with callables of any type; engine_task.h makes them so.

#ifndef WAITER_INTERNAL_ENGINE_STEP_H_
#define WAITER_INTERNAL_ENGINE_STEP_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <variant>

#include "waiter/clock.h"
#include "waiter/internal/engine_ref.h"
#include "waiter/loop/next_step.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/wait_report.h"

namespace waiter {
class WaitLoop;
}  // namespace waiter

namespace waiter::internal {

// What a success brings, if it brings anything.
template <typename T>
struct OptionalValueOf {
  using type = std::optional<T>;
};
template <>
struct OptionalValueOf<void> {
  using type = std::monostate;
};
template <typename T>
using OptionalValue = typename OptionalValueOf<T>::type;

// An answer that is given later, or on another thread.
struct EngineAnswer {
  virtual ~EngineAnswer() = default;
  Poll<> found;
  std::exception_ptr exception;  // Thrown instead of an answer.
};
template <typename T>
struct EngineValueAnswer final : EngineAnswer {
  OptionalValue<T> value;
};

// One poll that waits for its answer. Copies are for the same answer: the
// first one that is given counts. Thread-safe.
struct EngineTicket {
  EngineWaitRef wait;
  int64_t attempt = 0;

  void Give(std::unique_ptr<EngineAnswer> answer) const;
};

// One poll of one wait, on its worker.
class EngineStep {
 public:
  // Null unless the status function takes one.
  const PollContext* context() const { return context_; }

  // Where the answer goes, but for its value.
  Poll<>& found() { return report_.last_poll; }

  // Takes in `found()`. Returns whether that was the end and somebody wants to
  // know: the callback gets `report()`, moved.
  bool Ends();
  WaitReport& report() { return report_; }

  // Says that the answer comes later, by the ticket.
  EngineTicket Defer();

 private:
  friend class EngineWorker;

  EngineStep(EngineWorker& worker, EngineRecord& record, WaitLoop& loop,
             WaitReport& report)
      : worker_(worker), record_(record), loop_(loop), report_(report) {}

  EngineWorker& worker_;
  EngineRecord& record_;
  WaitLoop& loop_;
  WaitReport& report_;
  const PollContext* context_ = nullptr;
  std::optional<MonotonicTime> answered_at_;  // If not on this thread, now.
  NextStep next_ = NextStep::Poll();
  bool deferred_ = false;
  bool called_back_ = false;
};

// What can be done with a task of any type.
struct EngineOps {
  // Asks, and calls back if that was the end.
  void (*poll)(void* task, EngineStep& step);
  // Asks on a thread of an executor. `take` does the rest on the worker.
  std::unique_ptr<EngineAnswer> (*poll_away)(void* task,
                                             const PollContext* context);
  void (*take)(void* task, EngineAnswer& answer, EngineStep& step);
  // Calls back without a value.
  void (*finish)(void* task, WaitReport&& report);
  void (*destroy)(void* task);
  bool takes_context;
  bool is_asynchronous;
  bool is_awaited;  // Also beyond the deadline.
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_ENGINE_STEP_H_
