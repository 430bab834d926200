// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How a `WaitEngine` (wait_engine.h) holds the callables of a wait, whatever
// their types: how to ask, and the callback for the result. Small ones lie side
// by side inside the record of the wait, behind one table of functions. Forms
// of status functions differ in their asker:
//
//   struct Asker {
//     static constexpr bool kTakesContext, kIsAsynchronous;
//     static constexpr bool kIsAwaited;  // Optional; see below.
//     // Puts the value of a success into `value`, and all else into `found`.
//     void Ask(const PollContext* context, Poll<>& found,
//              OptionalValue<T>& value);
//     // Instead, if asynchronous.
//     void Begin(const PollContext* context, EngineTicket ticket);
//   };
//   using Task = waiter::EngineTask<Asker, T, Callback>;

#ifndef WAITER_ENGINE_TASK_H_
#define WAITER_ENGINE_TASK_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "waiter/engine_ref.h"
#include "waiter/next_step.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/wait_report.h"
#include "waiter/wait_result.h"

namespace waiter {

class WaitLoop;

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
  NextStep next_ = NextStep::Poll();
  bool deferred_ = false;
  bool called_back_ = false;
};

// Whether polls are awaited beyond the deadline: synchronous ones are, others
// if their asker says that an answer is certain.
template <typename Asker>
inline constexpr bool kIsAwaited = !Asker::kIsAsynchronous || requires {
  requires Asker::kIsAwaited;
};

// What can be done with a task of any type.
struct EngineOps {
  // Asks, and calls back if that was the end.
  void (*poll)(void* task, EngineStep& step);
  // Asks on a thread of an executor. `take` does the rest on the worker.
  std::unique_ptr<EngineAnswer> (*ask)(void* task, const PollContext* context);
  void (*take)(void* task, EngineAnswer& answer, EngineStep& step);
  // Calls back without a value.
  void (*finish)(void* task, WaitReport&& report);
  void (*destroy)(void* task);
  bool takes_context;
  bool is_asynchronous;
  bool is_awaited;
};

// Tasks of this size need no memory of their own.
inline constexpr size_t kInlineTaskSize = 32;
inline constexpr size_t kInlineTaskAlignment = 16;

template <typename Asker, typename T, typename Callback>
class EngineTask {
 public:
  static void Create(void* storage, Asker asker, Callback callback) {
    if constexpr (IsInline()) {
      new (storage) EngineTask(std::move(asker), std::move(callback));
    } else {
      new (storage)
          EngineTask*(new EngineTask(std::move(asker), std::move(callback)));
    }
  }

  static const EngineOps kOps;

 private:
  EngineTask(Asker asker, Callback callback)
      : asker_(std::move(asker)), callback_(std::move(callback)) {}

  static EngineTask& From(void* storage) {
    if constexpr (IsInline()) {
      return *static_cast<EngineTask*>(storage);
    } else {
      return **static_cast<EngineTask**>(storage);
    }
  }

  void CallBack(WaitReport&& report, OptionalValue<T> value) {
    if constexpr (std::is_void_v<T>) {
      callback_(WaitResult<>(std::move(report)));
    } else {
      callback_(WaitResult<T>(std::move(report), std::move(value)));
    }
  }

  static void DoPoll(void* storage, EngineStep& step) {
    EngineTask& task = From(storage);
    if constexpr (Asker::kIsAsynchronous) {
      task.asker_.Begin(step.context(), step.Defer());
    } else {
      OptionalValue<T> value;
      task.asker_.Ask(step.context(), step.found(), value);
      if (step.Ends()) task.End(step, std::move(value));
    }
  }

  static std::unique_ptr<EngineAnswer> DoAsk(void* storage,
                                             const PollContext* context) {
    auto answer = std::make_unique<EngineValueAnswer<T>>();
    if constexpr (!Asker::kIsAsynchronous) {
      From(storage).asker_.Ask(context, answer->found, answer->value);
    }
    return answer;
  }

  static void DoTake(void* storage, EngineAnswer& answer, EngineStep& step) {
    auto& typed = static_cast<EngineValueAnswer<T>&>(answer);
    step.found() = std::move(typed.found);
    if (step.Ends()) From(storage).End(step, std::move(typed.value));
  }

  static void DoFinish(void* storage, WaitReport&& report) {
    From(storage).CallBack(std::move(report), {});
  }

  static void DoDestroy(void* storage) {
    if constexpr (IsInline()) {
      From(storage).~EngineTask();
    } else {
      delete &From(storage);
    }
  }

  void End(EngineStep& step, OptionalValue<T> value) {
    if (step.report().reason != StopReason::kSuccess) value = {};
    CallBack(std::move(step.report()), std::move(value));
  }

  static constexpr bool IsInline() {
    return sizeof(EngineTask) <= kInlineTaskSize &&
           alignof(EngineTask) <= kInlineTaskAlignment;
  }

  [[no_unique_address]] Asker asker_;
  [[no_unique_address]] Callback callback_;
};

template <typename Asker, typename T, typename Callback>
constexpr EngineOps EngineTask<Asker, T, Callback>::kOps = {
    .poll = DoPoll,
    .ask = DoAsk,
    .take = DoTake,
    .finish = DoFinish,
    .destroy = DoDestroy,
    .takes_context = Asker::kTakesContext,
    .is_asynchronous = Asker::kIsAsynchronous,
    .is_awaited = kIsAwaited<Asker>,
};

}  // namespace waiter

#endif  // WAITER_ENGINE_TASK_H_
