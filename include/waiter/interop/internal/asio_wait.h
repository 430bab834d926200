// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits of a `WaitEngine` as asynchronous operations of Boost.Asio
// (interop/asio.h).

#ifndef WAITER_INTEROP_INTERNAL_ASIO_WAIT_H_
#define WAITER_INTEROP_INTERNAL_ASIO_WAIT_H_

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "boost/asio/associated_allocator.hpp"
#include "boost/asio/associated_cancellation_slot.hpp"
#include "boost/asio/associated_executor.hpp"
#include "boost/asio/cancellation_type.hpp"
#include "boost/asio/defer.hpp"
#include "boost/asio/execution/context.hpp"
#include "boost/asio/execution_context.hpp"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/query.hpp"
#include "boost/asio/system_executor.hpp"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/prepared_start.h"
#include "waiter/engine/internal/wait_canceller.h"
#include "waiter/interop/internal/asio_turn.h"
#include "waiter/interop/internal/asio_waits.h"
#include "waiter/result.h"

namespace waiter::internal {

// One wait with its handler, and with its result once it has ended.
template <typename Handler, typename T>
class AsioWait final : public AsioItem {
  using Executor = boost::asio::associated_executor_t<Handler>;

 public:
  explicit AsioWait(Handler handler)
      : AsioWait(boost::asio::get_associated_executor(handler),
                 std::move(handler)) {}

  const Handler& handler() const { return handler_; }

  // To be called once, before the wait begins.
  void Own(WaitHandle wait) { entry_.Own(std::move(wait)); }

  // Calls the handler on its executor. `wait` is this.
  void Complete(std::unique_ptr<AsioItem> wait, WaitResult<T>&& result) {
    result_.emplace(std::move(result));
    if (AsioTurn* const turn = AsioTurn::CurrentFor(work_.get_executor())) {
      entry_.Leave();
      turn->Add(std::move(wait));
    } else if constexpr (kIsSystem) {
      Call(std::move(wait));
    } else {
      const auto departure = entry_.Depart();
      // Keeps the context running until the handler is in its queue.
      const boost::asio::executor_work_guard<Executor> work = std::move(work_);
      boost::asio::defer(work.get_executor(),
                         Completion{std::move(wait), this});
    }
  }

  // To be called if the wait has ended without a callback.
  void Abandon(std::unique_ptr<AsioItem> wait) {
    entry_.Abandon(std::move(wait));
  }

  void Call(std::unique_ptr<AsioItem> /*wait*/) override {
    std::move(handler_)(*std::move(result_));
  }

 private:
  // The handler has no executor.
  static constexpr bool kIsSystem =
      std::is_same_v<Executor, boost::asio::system_executor>;

  // The function that the executor calls.
  struct Completion {
    using allocator_type = boost::asio::associated_allocator_t<Handler>;

    // Found by Asio.
    // NOLINTNEXTLINE(readability-identifier-naming)
    allocator_type get_allocator() const noexcept {
      return boost::asio::get_associated_allocator(wait->handler_);
    }

    void operator()() { wait->Call(std::move(owner)); }

    std::unique_ptr<AsioItem> owner;
    AsioWait* wait;
  };

  AsioWait(const Executor& executor, Handler&& handler)
      : entry_(WaitsOf(executor)),
        work_(executor),
        handler_(std::move(handler)) {}

  // Returns the waits of the context of `executor`, or null.
  static AsioWaits* WaitsOf(const Executor& executor) {
    if constexpr (!kIsSystem && boost::asio::can_query<
                                    const Executor&,
                                    boost::asio::execution::context_t>::value) {
      return &AsioWaits::Of(static_cast<boost::asio::execution_context&>(
          boost::asio::query(executor, boost::asio::execution::context)));
    } else {
      return nullptr;
    }
  }

  AsioWaits::Entry entry_;
  boost::asio::executor_work_guard<Executor> work_;
  Handler handler_;
  std::optional<WaitResult<T>> result_;
};

// The callback of a wait.
template <typename Handler, typename T>
class AsioCallback {
  using Wait = AsioWait<Handler, T>;

 public:
  explicit AsioCallback(std::unique_ptr<Wait> wait) : wait_(std::move(wait)) {}
  AsioCallback(AsioCallback&&) noexcept = default;
  AsioCallback& operator=(AsioCallback&&) = delete;
  ~AsioCallback() {
    if (wait_ == nullptr) return;
    Wait& wait = *wait_;
    wait.Abandon(std::move(wait_));
  }

  void operator()(WaitResult<T>&& result) {
    Wait& wait = *wait_;
    wait.Complete(std::move(wait_), std::move(result));
  }

 private:
  std::unique_ptr<Wait> wait_;
};

// The function in the cancellation slot of a handler. It stays there until the
// handler is called, so the wait may have ended before.
struct AsioCancel {
  void operator()(boost::asio::cancellation_type type) const {
    using boost::asio::cancellation_type;
    constexpr cancellation_type kHonoured = cancellation_type::terminal |
                                            cancellation_type::partial |
                                            cancellation_type::total;
    if ((type & kHonoured) == cancellation_type::none) return;
    // Code that the request wakes may empty the slot.
    const WaitCanceller canceller = wait;
    canceller.Cancel();
  }

  WaitCanceller wait;
};

// The initiation of `AsyncWait`.
struct StartAsioWait {
  template <typename Handler, typename W>
  void operator()(Handler&& handler, W waiter) const {
    using T = typename W::value_type;
    using Wait = AsioWait<std::decay_t<Handler>, T>;
    auto wait = std::make_unique<Wait>(std::forward<Handler>(handler));
    Wait& pending = *wait;
    auto slot =
        boost::asio::get_associated_cancellation_slot(pending.handler());
    AsioCancel* const cancel =
        slot.is_connected() ? &slot.template emplace<AsioCancel>() : nullptr;
    PreparedStart::Start(
        *engine, std::move(waiter),
        AsioCallback<std::decay_t<Handler>, T>(std::move(wait)),
        [&pending, cancel](WaitHandle& handle) {
          if (cancel != nullptr) {
            cancel->wait = PreparedStart::CancellerOf(handle);
          }
          pending.Own(std::move(handle));
        });
  }

  WaitEngine* engine;
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_ASIO_WAIT_H_
