// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Several waits in one `co_await`: wait_group.h for coroutines.
//
//   Task RollOut(waiter::WaitEngine& engine, ...) {
//     std::vector<waiter::Waiter<CheckReplica>> waits = ...;
//     std::vector<waiter::WaitResult<Replica>> results =
//         co_await waiter::AwaitFirstN(2, engine, std::move(waits));
//     // In the order of `waits`. Waits that were not needed have the reason
//     // `kCancelled`.
//   }
//
// Like coroutine.h, this header is empty if the compiler has no coroutines.

#ifndef WAITER_AWAIT_GROUP_H_
#define WAITER_AWAIT_GROUP_H_

#include "waiter/coroutine.h"

#ifdef WAITER_HAS_COROUTINES

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "waiter/internal/exceptions.h"
#include "waiter/stop_token.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_group.h"
#include "waiter/wait_group_options.h"
#include "waiter/wait_result.h"

namespace waiter {

// The waits of a `WaitGroupAwaitable`, in the frame of the coroutine that
// awaits them.
template <typename W>
class [[nodiscard]] WaitGroupAwaiter {
 public:
  using Results = std::vector<WaitResult<typename W::value_type>>;

  WaitGroupAwaiter(WaitEngine& engine, std::vector<W> waits,
                   WaitGroupOptions options, waiter::stop_token stop)
      : engine_(engine),
        waits_(std::move(waits)),
        options_(options),
        stop_(std::move(stop)) {}

  WaitGroupAwaiter(const WaitGroupAwaiter&) = delete;
  WaitGroupAwaiter& operator=(const WaitGroupAwaiter&) = delete;

  // The three functions that `co_await` calls.

  bool await_ready() const noexcept { return false; }

  // Starts the waits.
  void await_suspend(std::coroutine_handle<> caller) {
    auto* const state =
        new State(waits_.size(), options_, [this, caller](Results results) {
          results_ = std::move(results);
          caller.resume();
        });
    group_ = Group(state);
    const Reference reference(*state);
    on_stop_.emplace(stop_, Cancel{&group_});
    WAITER_TRY {
      // Once all have begun, the engine may resume the coroutine, which may
      // destroy this.
      Group::StartAll(engine_, std::move(waits_), *state);
    }
    WAITER_CATCH(...) {
      // The last one has not begun, so the coroutine was not resumed.
      on_stop_.reset();
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

  // Callback of `stop_`.
  struct Cancel {
    void operator()() const { group->Cancel(); }

    Group* group;
  };

  WaitEngine& engine_;
  std::vector<W> waits_;
  const WaitGroupOptions options_;
  waiter::stop_token stop_;
  Results results_;
  Group group_{nullptr};
  std::optional<waiter::stop_callback<Cancel>> on_stop_;
};

// Waits that have not begun, as the functions below return them. As for a
// `WaitAwaitable`, nothing happens before it is awaited, once, as an rvalue,
// and destroying the suspended coroutine ends its waits.
template <typename W>
class [[nodiscard]] WaitGroupAwaitable {
 public:
  WaitGroupAwaitable(WaitEngine& engine, std::vector<W> waits,
                     WaitGroupOptions options, waiter::stop_token stop)
      : engine_(&engine),
        waits_(std::move(waits)),
        options_(options),
        stop_(std::move(stop)) {}

  WaitGroupAwaiter<W> operator co_await() && {
    return WaitGroupAwaiter<W>(*engine_, std::move(waits_), options_,
                               std::move(stop_));
  }

 private:
  WaitEngine* engine_;
  std::vector<W> waits_;
  WaitGroupOptions options_;
  waiter::stop_token stop_;
};

// Functions that return awaitables. These start `waits`, of type `Waiter` or
// `AsyncWaiter`, and resume the coroutine with a vector of their results once
// all have ended, cancelled ones included. The report of a wait has the
// exception of its status function; `co_await` does not throw it. A request of
// `stop` cancels all waits. Otherwise they behave as `Await`.

// Awaits the end of every wait, in success or not.
template <typename W>
WaitGroupAwaitable<W> AwaitEach(WaitEngine& engine, std::vector<W> waits,
                                waiter::stop_token stop = {}) {
  return {engine, std::move(waits), {}, std::move(stop)};
}

// Needs `n` successes. Cancels the other waits as soon as that many have
// succeeded, or cannot succeed any more.
template <typename W>
WaitGroupAwaitable<W> AwaitFirstN(size_t n, WaitEngine& engine,
                                  std::vector<W> waits,
                                  waiter::stop_token stop = {}) {
  return {engine, std::move(waits), {.successes_required = n}, std::move(stop)};
}

// The first success is enough.
template <typename W>
WaitGroupAwaitable<W> AwaitAny(WaitEngine& engine, std::vector<W> waits,
                               waiter::stop_token stop = {}) {
  return AwaitFirstN(1, engine, std::move(waits), std::move(stop));
}

// All must succeed: the first end without success cancels the others.
template <typename W>
WaitGroupAwaitable<W> AwaitAll(WaitEngine& engine, std::vector<W> waits,
                               waiter::stop_token stop = {}) {
  const size_t count = waits.size();
  return AwaitFirstN(count, engine, std::move(waits), std::move(stop));
}

}  // namespace waiter

#endif  // WAITER_HAS_COROUTINES

#endif  // WAITER_AWAIT_GROUP_H_
