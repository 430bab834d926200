// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The interface between a worker of a `WaitEngine` (engine/engine.h) and the
// functions of a wait. `EngineStep` is one step of a wait as its functions see
// it. `EngineOps` is the table by which a worker calls functions of any type;
// `EngineTask` (engine/internal/engine_task.h) makes it.

#ifndef WAITER_ENGINE_INTERNAL_ENGINE_STEP_H_
#define WAITER_ENGINE_INTERNAL_ENGINE_STEP_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/engine/internal/engine_ref.h"
#include "waiter/loop.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter {
class WaitLoop;
}  // namespace waiter

namespace waiter::internal {

class WaitStepper;

// Storage for the value of a success, or for nothing if `T` is void.
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

// An answer that comes later or from another thread. Giving it allocates
// nothing.
struct EngineAnswer {
  virtual ~EngineAnswer() = default;

  Poll<> found;
  // If not OK, there is no answer, for this reason, and perhaps an exception.
  absl::Status failure;
  std::exception_ptr exception;

  // Set when the answer is given: the poll that it answers, and the time.
  EngineRecord* record = nullptr;
  uint64_t generation = 0;
  int64_t attempt = 0;
  MonotonicTime given;
  bool at_once = false;  // Given inside the status function.
  std::unique_ptr<EngineAnswer> next;
};
template <typename T>
struct EngineValueAnswer final : EngineAnswer {
  OptionalValue<T> value;
};

// A poll that awaits its answer. Copies refer to the same poll; the first
// answer counts. Thread-safe.
struct EngineTicket {
  EngineWaitRef wait;
  int64_t attempt = 0;

  // Hands `answer` to the worker. Answers to any other poll than the current
  // one of the wait are dropped.
  void Give(std::unique_ptr<EngineAnswer> answer) const;
};

// One poll of one wait, on its worker.
class EngineStep {
 public:
  // Returns the context, or null unless the status function takes one.
  const PollContext* context() const { return context_; }

  // Returns the place for the answer, except its value.
  Poll<>& found() { return report_.last_poll; }

  // Feeds `found()` to the loop, and calls `on_failure` if the wait failed.
  void Decide();
  // Returns true if that ended the wait and the callback must run: with
  // `report()`, moved.
  bool must_call_back() const { return called_back_; }
  WaitReport& report() { return report_; }

  // Returns a ticket for an answer that comes after this step.
  EngineTicket Defer();

 private:
  friend class WaitStepper;

  EngineStep(WaitStepper& stepper, EngineRecord& record, WaitLoop* loop,
             WaitReport& report)
      : stepper_(stepper), record_(record), loop_(loop), report_(report) {}

  std::string_view name() const;

  WaitStepper& stepper_;
  EngineRecord& record_;
  WaitLoop* const loop_;  // Null for a poll of a plain wait.
  WaitReport& report_;
  const PollContext* context_ = nullptr;
  std::optional<MonotonicTime> answered_at_;  // Unset: now.
  NextStep next_ = NextStep::Poll();
  bool deferred_ = false;
  bool called_back_ = false;  // Or must be called back now.
};

// Operations on a task of any type.
struct EngineOps {
  // Polls, and calls back if the wait ended.
  void (*poll)(void* task, EngineStep& step);
  // Polls on a thread of an executor, into an answer of `make_answer`. The
  // worker then calls `take`.
  void (*poll_away)(void* task, const PollContext* context,
                    EngineAnswer& answer);
  std::unique_ptr<EngineAnswer> (*make_answer)();
  // Takes an answer, and calls back if the wait ended.
  void (*take)(void* task, EngineAnswer& answer, EngineStep& step);
  // Calls back without a value.
  void (*finish)(void* task, WaitReport&& report);
  // Returns the name of the wait. Null if it has its policy's name.
  std::string_view (*name)(const void* task);
  // Returns the token of the wait to continue with. Null for a new wait.
  const WaitToken& (*token)(const void* task);
  // Returns whether the asynchronous poll in progress is awaited beyond the
  // deadline. Null if none is. Synchronous polls always are.
  bool (*is_awaited)(const void* task);
  // Destroys the two functions.
  void (*destroy)(void* task);
  bool takes_context;
  bool is_asynchronous;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_ENGINE_STEP_H_
