// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `co_await` a wait on a `WaitEngine` (wait_engine.h):
//
//   Task Provision(waiter::WaitEngine& engine, Client& client) {
//     waiter::WaitResult<Instance> got =
//         co_await waiter::Await(engine, wait_until_running);
//     if (got.ok()) Use(*got);
//   }
//
// The type of the coroutine is yours. Make the waiter in a statement of its
// own: g++ 12 frees the wrong memory for options in braces inside of a
// `co_await`. Without coroutines in the compiler this header is empty, and
// `WAITER_HAS_COROUTINES` is not defined.

#ifndef WAITER_COROUTINE_H_
#define WAITER_COROUTINE_H_

#if defined(__cpp_impl_coroutine)
#define WAITER_HAS_COROUTINES 1

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "waiter/internal/engine_step.h"
#include "waiter/internal/engine_task.h"
#include "waiter/internal/wait_starter.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"

namespace waiter {

// What `Await` returns; to be awaited once. It holds the functions of the wait,
// so that a suspended wait takes no memory but the coroutine's frame and its
// place in the engine. Destroying the frame cancels the wait, and the coroutine
// is not resumed.
template <typename W>
class [[nodiscard]] WaitAwaiter {
 public:
  using value_type = typename W::value_type;

  WaitAwaiter(WaitEngine& engine, W waiter, std::stop_token stop)
      : engine_(engine),
        policy_(std::move(waiter.policy_)),
        adapter_{std::move(waiter.function_)},
        stop_(std::move(stop)) {}

  WaitAwaiter(const WaitAwaiter&) = delete;
  WaitAwaiter& operator=(const WaitAwaiter&) = delete;

  bool await_ready() const noexcept { return false; }

  void await_suspend(std::coroutine_handle<> caller) {
    using Task = internal::EngineTask<PollAdapterRef, value_type, Resume>;
    internal::WaitStarter slot(engine_.ChooseWorker());
    Task::Create(slot.storage(), {&adapter_}, {this, caller});
    wait_ = slot.MakeHandle(Task::kOps);
    on_stop_.emplace(stop_, Cancel{&wait_});
    // Once it is started, the coroutine may be resumed, and this be gone.
    slot.Start(std::move(policy_));
  }

  // Throws what the status function threw.
  WaitResult<value_type> await_resume() {
    if (result_->report().exception != nullptr) {
      std::rethrow_exception(result_->report().exception);
    }
    return *std::move(result_);
  }

 private:
  using PollAdapter = typename W::PollAdapter;

  struct PollAdapterRef {
    static constexpr bool kTakesContext = PollAdapter::kTakesContext;
    static constexpr bool kIsAsynchronous = PollAdapter::kIsAsynchronous;
    static constexpr bool kIsAwaited = internal::kIsAwaited<PollAdapter>;

    void Poll(const PollContext* context, waiter::Poll<>& found,
              internal::OptionalValue<value_type>& value) {
      adapter->Poll(context, found, value);
    }
    void Begin(const PollContext* context, internal::EngineTicket ticket) {
      adapter->Begin(context, std::move(ticket));
    }

    PollAdapter* adapter;
  };

  struct Resume {
    void operator()(WaitResult<value_type>&& result) {
      awaiter->result_.emplace(std::move(result));
      caller.resume();
    }

    WaitAwaiter* awaiter;
    std::coroutine_handle<> caller;
  };

  struct Cancel {
    void operator()() const { wait->Cancel(); }

    WaitHandle* wait;
  };

  WaitEngine& engine_;
  std::shared_ptr<const WaitPolicy> policy_;
  PollAdapter adapter_;
  std::stop_token stop_;
  std::optional<WaitResult<value_type>> result_;
  WaitHandle wait_;
  std::optional<std::stop_callback<Cancel>> on_stop_;
};

// Starts `waiter`, a `Waiter` or `AsyncWaiter`, when it is awaited, and resumes
// the coroutine on the engine's thread with its `WaitResult`. A request of
// `stop` ends the wait as `WaitHandle::Cancel` does. An exception of the status
// function is thrown from the `co_await`.
template <typename W>
WaitAwaiter<W> Await(WaitEngine& engine, W waiter, std::stop_token stop = {}) {
  return WaitAwaiter<W>(engine, std::move(waiter), std::move(stop));
}

}  // namespace waiter

#endif  // defined(__cpp_impl_coroutine)

#endif  // WAITER_COROUTINE_H_
