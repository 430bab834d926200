// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The form in which a `WaitEngine` (engine/engine.h) holds the two functions of
// a wait, of any type: the status function, inside an adapter, and the
// callback. Small ones lie side by side inside the record of the wait, behind
// one table of operations. Each form of status function has an adapter:
//
//   struct PollAdapter {
//     static constexpr bool kTakesContext, kIsAsynchronous;
//     std::string_view name() const;     // Optional: name of the wait, or
//                                        // null for the policy's.
//
//     // For synchronous functions: puts the value of a success into `value`
//     // and everything else into `found`.
//     void Poll(const PollContext* context, Poll<>& found,
//               OptionalValue<T>& value);
//
//     // For asynchronous functions: begins a poll that `ticket` will answer.
//     void Begin(const PollContext* context, EngineTicket ticket);
//
//     // Optional, for asynchronous functions: whether the poll under way is
//     // certain to be answered, and then awaited beyond the deadline. May
//     // become true during a poll.
//     bool IsAwaited() const;
//   };
//   using Task = waiter::internal::EngineTask<PollAdapter, T, Callback>;

#ifndef WAITER_ENGINE_INTERNAL_ENGINE_TASK_H_
#define WAITER_ENGINE_INTERNAL_ENGINE_TASK_H_

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "waiter/engine/internal/engine_step.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

// Largest task that needs no memory besides the record.
inline constexpr size_t kInlineTaskSize = 32;
inline constexpr size_t kInlineTaskAlignment = 16;

// The operations take `storage`, in which `Create` put the task or, if that is
// too large, a pointer to it. `EngineOps` says what each does.
template <typename PollAdapter, typename T, typename Callback>
class EngineTask {
 public:
  // `storage` must have the size and alignment above.
  static void Create(void* storage, PollAdapter&& adapter,
                     Callback&& callback) {
    if constexpr (IsInline()) {
      new (storage) EngineTask(std::move(adapter), std::move(callback));
    } else {
      new (storage)
          EngineTask*(new EngineTask(std::move(adapter), std::move(callback)));
    }
  }

  static const EngineOps kOps;

 private:
  EngineTask(PollAdapter&& adapter, Callback&& callback)
      : adapter_(std::move(adapter)), callback_(std::move(callback)) {}

  static EngineTask& From(void* storage) {
    if constexpr (IsInline()) {
      return *static_cast<EngineTask*>(storage);
    } else {
      return **static_cast<EngineTask**>(storage);
    }
  }

  static constexpr auto NameOperation() -> std::string_view (*)(const void*) {
    if constexpr (requires(const PollAdapter& adapter) { adapter.name(); }) {
      return [](const void* storage) -> std::string_view {
        return From(const_cast<void*>(storage)).adapter_.name();
      };
    } else {
      return nullptr;
    }
  }

  static constexpr auto TokenOperation() -> const WaitToken& (*)(const void*) {
    if constexpr (requires(const PollAdapter& adapter) { adapter.token(); }) {
      return [](const void* storage) -> const WaitToken& {
        return From(const_cast<void*>(storage)).adapter_.token();
      };
    } else {
      return nullptr;
    }
  }

  static constexpr auto IsAwaitedOperation() -> bool (*)(const void*) {
    if constexpr (requires(const PollAdapter& adapter) {
                    adapter.IsAwaited();
                  }) {
      return [](const void* storage) {
        return From(const_cast<void*>(storage)).adapter_.IsAwaited();
      };
    } else {
      return nullptr;
    }
  }

  void CallBack(WaitReport&& report, OptionalValue<T> value) {
    if constexpr (std::is_void_v<T>) {
      callback_(WaitResult<>(std::move(report)));
    } else {
      // A success that did not end the wait has a value, too.
      if (report.reason != StopReason::kSuccess) value.reset();
      callback_(WaitResult<T>(std::move(report), std::move(value)));
    }
  }

  static void DoPoll(void* storage, EngineStep& step) {
    EngineTask& task = From(storage);
    if constexpr (PollAdapter::kIsAsynchronous) {
      task.adapter_.Begin(step.context(), step.Defer());
    } else {
      OptionalValue<T> value;
      task.adapter_.Poll(step.context(), step.found(), value);
      step.Decide();
      if (step.must_call_back()) {
        task.CallBack(std::move(step.report()), std::move(value));
      }
    }
  }

  static void DoPollAway(void* storage, const PollContext* context,
                         EngineAnswer& answer) {
    if constexpr (!PollAdapter::kIsAsynchronous) {
      auto& typed = static_cast<EngineValueAnswer<T>&>(answer);
      From(storage).adapter_.Poll(context, typed.found, typed.value);
    }
  }

  static std::unique_ptr<EngineAnswer> DoMakeAnswer() {
    return std::make_unique<EngineValueAnswer<T>>();
  }

  static void DoTake(void* storage, EngineAnswer& answer, EngineStep& step) {
    auto& typed = static_cast<EngineValueAnswer<T>&>(answer);
    step.found() = std::move(typed.found);
    step.Decide();
    if (step.must_call_back()) {
      From(storage).CallBack(std::move(step.report()), std::move(typed.value));
    }
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

  static constexpr bool IsInline() {
    constexpr bool kIsSmall = sizeof(EngineTask) <= kInlineTaskSize;
    constexpr bool kFits = alignof(EngineTask) <= kInlineTaskAlignment;
    return kIsSmall && kFits;
  }

  [[no_unique_address]] PollAdapter adapter_;
  [[no_unique_address]] Callback callback_;
};

// The adapter of a wait that may have its own name.
template <typename PollAdapter>
struct NamedPollAdapter : PollAdapter {
  std::string_view name() const {
    return text.empty() ? std::string_view() : text;
  }

  std::string text;
};

// The adapter of a wait that resumes an earlier one.
template <typename PollAdapter>
struct ResumedPollAdapter : PollAdapter {
  const WaitToken& token() const { return saved; }

  WaitToken saved;
};

template <typename PollAdapter, typename T, typename Callback>
constexpr EngineOps EngineTask<PollAdapter, T, Callback>::kOps = {
    .poll = DoPoll,
    .poll_away = DoPollAway,
    .make_answer = DoMakeAnswer,
    .take = DoTake,
    .finish = DoFinish,
    .name = NameOperation(),
    .token = TokenOperation(),
    .is_awaited = IsAwaitedOperation(),
    .destroy = DoDestroy,
    .takes_context = PollAdapter::kTakesContext,
    .is_asynchronous = PollAdapter::kIsAsynchronous,
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_ENGINE_TASK_H_
