// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits in coroutines: `co_await` suspends the coroutine until a wait on a
// `WaitEngine` (engine/engine.h) has ended.
//
//   Task Provision(waiter::WaitEngine& engine, Client& client) {
//     waiter::Waiter wait_until_running([&] { return GetStatus(client); },
//                                       {.timeout = absl::Minutes(5)});
//     waiter::WaitResult<Instance> got =
//         co_await waiter::Await(engine, std::move(wait_until_running));
//     if (got.ok()) Use(*got);
//   }
//
// A stop token ends the wait; the coroutine then resumes with the reason
// `kCancelled`:
//
//   waiter::WaitResult<Instance> got =
//       co_await waiter::Await(engine, std::move(wait), stop.get_token());
//
// `Task` is a coroutine type of yours or of another library. Sender libraries
// accept the result of `Await` as a sender, as they do every movable awaitable.
// `AwaitAll` awaits several waits. interop/asio.h is for coroutines of
// Boost.Asio, which can await only operations of Asio. Make the waiter in its
// own statement: g++ 12 frees the wrong memory for options in braces inside a
// `co_await`. If the compiler has no coroutines, this header is empty, and
// `WAITER_HAS_COROUTINES` is not defined.

#ifndef WAITER_ENGINE_COROUTINE_H_
#define WAITER_ENGINE_COROUTINE_H_

#if defined(__cpp_impl_coroutine)
#define WAITER_HAS_COROUTINES 1

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/engine_step.h"
#include "waiter/engine/internal/engine_task.h"
#include "waiter/engine/internal/wait_starter.h"
#include "waiter/internal/exceptions.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"

namespace waiter {

// The wait of a `WaitAwaitable`, in the frame of the coroutine that awaits it.
template <typename W>
class [[nodiscard]] WaitAwaiter {
 public:
  using value_type = typename W::value_type;

  WaitAwaiter(WaitEngine& engine, W waiter, StartOptions options)
      : engine_(engine),
        policy_(std::move(waiter.policy_)),
        adapter_{std::move(waiter.function_)},
        options_(std::move(options)) {}

  WaitAwaiter(const WaitAwaiter&) = delete;
  WaitAwaiter& operator=(const WaitAwaiter&) = delete;

  // The three functions that `co_await` calls.

  // Returns false: a wait always suspends the coroutine, even if its first poll
  // will succeed, because polls run on the engine's thread.
  bool await_ready() const noexcept { return false; }

  // Starts the wait.
  void await_suspend(std::coroutine_handle<> caller) {
    if (options_.name.empty() && options_.resume.empty()) {
      return Start(PollAdapterRef{&adapter_}, caller);
    }
    using Named = internal::NamedPollAdapter<PollAdapterRef>;
    Named named{{&adapter_}, std::move(options_.name)};
    if (options_.resume.empty()) return Start(std::move(named), caller);
    Start(internal::ResumedPollAdapter<Named>{std::move(named),
                                              std::move(options_.resume)},
          caller);
  }

  // Returns the result, or throws the exception of the status function.
  WaitResult<value_type> await_resume() {
    if (result_->report().exception != nullptr) {
      std::rethrow_exception(result_->report().exception);
    }
    return *std::move(result_);
  }

 private:
  using PollAdapter = typename W::PollAdapter;

  // Makes the engine call the status function in this object. The name is in
  // the task instead: `OnDone` may need it after a hook has destroyed this
  // object.
  struct PollAdapterRef {
    static constexpr bool kTakesContext = PollAdapter::kTakesContext;
    static constexpr bool kIsAsynchronous = PollAdapter::kIsAsynchronous;

    void Poll(const PollContext* context, waiter::Poll<>& found,
              internal::OptionalValue<value_type>& value) {
      adapter->Poll(context, found, value);
    }
    void Begin(const PollContext* context, internal::EngineTicket ticket) {
      adapter->Begin(context, std::move(ticket));
    }
    bool IsAwaited() const requires requires(const PollAdapter& a) {
      a.IsAwaited();
    }
    { return adapter->IsAwaited(); }

    PollAdapter* adapter;
  };

  // Callback of the wait.
  struct Resume {
    void operator()(WaitResult<value_type>&& result) {
      awaiter->result_.emplace(std::move(result));
      caller.resume();
    }

    WaitAwaiter* awaiter;
    std::coroutine_handle<> caller;
  };

  // Callback of `options_.stop`.
  struct Cancel {
    void operator()() const { wait->Cancel(); }

    WaitHandle* wait;
  };

  template <typename Adapter>
  void Start(Adapter adapter, std::coroutine_handle<> caller) {
    using Task = internal::EngineTask<Adapter, value_type, Resume>;
    internal::WaitStarter starter(engine_.ChooseWorker());
    Task::Create(starter.storage(), std::move(adapter), {this, caller});
    wait_ = starter.MakeHandle(Task::kOps);
    on_stop_.emplace(options_.stop, Cancel{&wait_});
    // From here on the engine may resume the coroutine, which may destroy this.
    starter.Start(std::move(policy_));
  }

  WaitEngine& engine_;
  std::shared_ptr<const WaitPolicy> policy_;
  PollAdapter adapter_;
  StartOptions options_;
  std::optional<WaitResult<value_type>> result_;
  WaitHandle wait_;
  std::optional<waiter::stop_callback<Cancel>> on_stop_;
};

// A wait that has not begun, as `Await` returns it. It must be awaited as an
// rvalue and only once; nothing happens before. Destroying it unawaited has no
// effect.
//
//   auto later = waiter::Await(engine, std::move(wait));
//   waiter::WaitResult<Instance> got = co_await std::move(later);
//
// Movable, and copyable if the status function is. `engine` must exist at the
// `co_await`.
//
// While it is awaited, the status function is in the coroutine's frame, so a
// wait without its own name needs only its place in the engine. Destroying a
// suspended coroutine cancels the wait as the destructor of a `WaitHandle`
// does: it blocks while the status function runs on another thread, and the
// coroutine is not resumed. As for any coroutine, it must not be destroyed
// while it may be resumed: destroy it on the engine's only thread, or when none
// of its waits can end.
template <typename W>
class [[nodiscard]] WaitAwaitable {
 public:
  using value_type = typename W::value_type;

  WaitAwaitable(WaitEngine& engine, W waiter, StartOptions options)
      : engine_(&engine),
        waiter_(std::move(waiter)),
        options_(std::move(options)) {}

  WaitAwaiter<W> operator co_await() && {
    return WaitAwaiter<W>(*engine_, std::move(waiter_), std::move(options_));
  }

 private:
  WaitEngine* engine_;
  W waiter_;
  StartOptions options_;
};

// Returns an awaitable that starts `waiter`, a `Waiter` or an `AsyncWaiter`,
// and resumes the coroutine with its `WaitResult`.
//
// The coroutine continues on the engine's thread, even if it was started on
// another one. Until it suspends again or ends, it holds up the other waits of
// that thread, and it must not destroy the engine. A stop request ends the wait
// as `WaitHandle::Cancel` does. An exception of the status function or the
// executor is thrown from the `co_await`. If the engine is destroyed, the
// coroutine continues with the reason `kShutDown`. A coroutine that then keeps
// awaiting waits is resumed 32 more times, and then never again (see
// `~WaitEngine`).
template <typename W>
WaitAwaitable<W> Await(WaitEngine& engine, W waiter,
                       waiter::stop_token stop = {}) {
  return WaitAwaitable<W>(engine, std::move(waiter),
                          StartOptions{.stop = std::move(stop)});
}

// Takes options, such as a name or a saved wait. Make them in a statement
// before the `co_await`, because of the defect of g++ 12 described above.
template <typename W>
WaitAwaitable<W> Await(WaitEngine& engine, W waiter, StartOptions options) {
  return WaitAwaitable<W>(engine, std::move(waiter), std::move(options));
}

// Several waits in one `co_await`: engine/group.h for coroutines.
//
//   Task RollOut(waiter::WaitEngine& engine, ...) {
//     std::vector<waiter::Waiter<CheckReplica>> waits = ...;
//     std::vector<waiter::WaitResult<Replica>> results =
//         co_await waiter::AwaitFirstN(2, engine, std::move(waits));
//     // In the order of `waits`. Waits that were not needed have the reason
//     // `kCancelled`.
//   }

// The waits of a `WaitGroupAwaitable`, in the frame of the coroutine that
// awaits them.
template <typename W>
class [[nodiscard]] WaitGroupAwaiter {
 public:
  using Results = std::vector<WaitResult<typename W::value_type>>;

  WaitGroupAwaiter(WaitEngine& engine, std::vector<W> waits,
                   WaitGroupOptions options)
      : engine_(engine),
        waits_(std::move(waits)),
        options_(std::move(options)) {}

  WaitGroupAwaiter(const WaitGroupAwaiter&) = delete;
  WaitGroupAwaiter& operator=(const WaitGroupAwaiter&) = delete;

  // The three functions that `co_await` calls.

  bool await_ready() const noexcept { return false; }

  // Starts the waits.
  void await_suspend(std::coroutine_handle<> caller) {
    auto* const state = new State(waits_.size(), options_.successes_required,
                                  [this, caller](Results results) {
                                    results_ = std::move(results);
                                    caller.resume();
                                  });
    group_ = Group(state);
    const Reference reference(*state);
    WAITER_TRY {
      // Once all have begun, the engine may resume the coroutine, which may
      // destroy this.
      Group::StartAll(engine_, std::move(waits_), std::move(options_), *state);
    }
    WAITER_CATCH(...) {
      // The last one has not begun, so the coroutine was not resumed.
      group_ = Group(nullptr);
      WAITER_RETHROW;
    }
  }

  // Returns the results, in the order of the waits.
  Results await_resume() { return std::move(results_); }

 private:
  using Group = WaitGroup<typename W::value_type>;
  using State = typename Group::State;

  class Reference {
   public:
    explicit Reference(State& state) : state_(state) { state_.AddReference(); }
    ~Reference() { state_.RemoveReference(); }

    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;

   private:
    State& state_;
  };

  WaitEngine& engine_;
  std::vector<W> waits_;
  WaitGroupOptions options_;
  Results results_;
  Group group_{nullptr};
};

// Waits that have not begun, as the functions below return them. As for a
// `WaitAwaitable`, nothing happens before it is awaited, once, as an rvalue,
// and destroying the suspended coroutine ends its waits.
template <typename W>
class [[nodiscard]] WaitGroupAwaitable {
 public:
  WaitGroupAwaitable(WaitEngine& engine, std::vector<W> waits,
                     WaitGroupOptions options)
      : engine_(&engine),
        waits_(std::move(waits)),
        options_(std::move(options)) {}

  WaitGroupAwaiter<W> operator co_await() && {
    return WaitGroupAwaiter<W>(*engine_, std::move(waits_),
                               std::move(options_));
  }

 private:
  WaitEngine* engine_;
  std::vector<W> waits_;
  WaitGroupOptions options_;
};

// The functions below return awaitables that start `waits`, of type `Waiter` or
// `AsyncWaiter`, and resume the coroutine with a vector of their results once
// all have ended, cancelled ones included. A status function's exception is in
// its wait's report; `co_await` does not throw it. Otherwise, they behave like
// `Await`.
//
// `options` takes a stop token and names, as for a `WaitGroup`; a stop token
// alone also works. The last three functions set `successes_required`.

// Awaits the waits as a `WaitGroup` with `options` does: without any, until
// every wait has ended, successful or not.
template <typename W>
WaitGroupAwaitable<W> AwaitEach(WaitEngine& engine, std::vector<W> waits,
                                WaitGroupOptions options) {
  return {engine, std::move(waits), std::move(options)};
}
template <typename W>
WaitGroupAwaitable<W> AwaitEach(WaitEngine& engine, std::vector<W> waits,
                                waiter::stop_token stop = {}) {
  return AwaitEach(engine, std::move(waits),
                   WaitGroupOptions{.stop = std::move(stop)});
}

// Needs `n` successes. Cancels the other waits as soon as that many have
// succeeded, or no longer can.
template <typename W>
WaitGroupAwaitable<W> AwaitFirstN(size_t n, WaitEngine& engine,
                                  std::vector<W> waits,
                                  WaitGroupOptions options) {
  options.successes_required = n;
  return {engine, std::move(waits), std::move(options)};
}
template <typename W>
WaitGroupAwaitable<W> AwaitFirstN(size_t n, WaitEngine& engine,
                                  std::vector<W> waits,
                                  waiter::stop_token stop = {}) {
  return AwaitFirstN(n, engine, std::move(waits),
                     WaitGroupOptions{.stop = std::move(stop)});
}

// The first success is enough.
template <typename W>
WaitGroupAwaitable<W> AwaitAny(WaitEngine& engine, std::vector<W> waits,
                               WaitGroupOptions options) {
  return AwaitFirstN(1, engine, std::move(waits), std::move(options));
}
template <typename W>
WaitGroupAwaitable<W> AwaitAny(WaitEngine& engine, std::vector<W> waits,
                               waiter::stop_token stop = {}) {
  return AwaitFirstN(1, engine, std::move(waits), std::move(stop));
}

// All must succeed: the first end without success cancels the others.
template <typename W>
WaitGroupAwaitable<W> AwaitAll(WaitEngine& engine, std::vector<W> waits,
                               WaitGroupOptions options) {
  const size_t count = waits.size();
  return AwaitFirstN(count, engine, std::move(waits), std::move(options));
}
template <typename W>
WaitGroupAwaitable<W> AwaitAll(WaitEngine& engine, std::vector<W> waits,
                               waiter::stop_token stop = {}) {
  const size_t count = waits.size();
  return AwaitFirstN(count, engine, std::move(waits), std::move(stop));
}

}  // namespace waiter

#endif  // defined(__cpp_impl_coroutine)

#endif  // WAITER_ENGINE_COROUTINE_H_
