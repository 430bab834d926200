// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Several waits of a `WaitEngine` (wait_engine.h) as one: all of them, any, or
// the first few that succeed.
//
//   std::vector<waiter::Waiter<AskReplica>> waits = ...;
//   waiter::WaitGroup group(
//       engine, std::move(waits), {.successes_required = 2},
//       [](std::vector<waiter::WaitResult<Replica>> results) {
//         // In the order of `waits`; those that were not needed: cancelled.
//       });

#ifndef WAITER_WAIT_GROUP_H_
#define WAITER_WAIT_GROUP_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/internal/wait_group_state.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {

// Owns waits that bring a `T`, as a `WaitHandle` owns one: destroying it
// cancels them without a callback. Movable; the functions are thread-safe. For
// each wait it takes the 32 bytes of a handle, and 8 more.
template <typename T = void>
class [[nodiscard]] WaitGroup {
 public:
  using Callback = typename internal::WaitGroupState<T>::Callback;

  // Starts `waits`, of `Waiter` or `AsyncWaiter`. Calls back once, on a thread
  // of the engine, when all have ended, cancelled ones included.
  template <typename W>
  WaitGroup(WaitEngine& engine, std::vector<W> waits, WaitGroupOptions options,
            Callback callback)
      : state_(std::make_unique<State>(waits.size(), options,
                                       std::move(callback))) {
    State* const state = state_.get();
    for (size_t i = 0; i < waits.size(); ++i) {
      state->Add(i, engine.Start(std::move(waits[i]),
                                 [state, i](WaitResult<T>&& result) {
                                   state->End(i, std::move(result));
                                 }));
    }
    // One wait more keeps the callback out of this constructor.
    state->Add(waits.size(),
               engine.Start(Waiter([] { return true; },
                                   {.timeout = absl::ZeroDuration()}),
                            [state](WaitResult<>&&) { state->Leave(); }));
  }

  WaitGroup(WaitGroup&&) noexcept = default;
  WaitGroup& operator=(WaitGroup&&) noexcept = default;

  // Cancels all waits; the callback still comes.
  void Cancel() {
    if (state_ != nullptr) state_->CancelAll();
  }

  // Lets the waits go on by themselves, to the callback.
  void Detach() {
    if (state_ == nullptr) return;
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.left > 0) state.self = std::move(state_);
  }

 private:
  using State = internal::WaitGroupState<T>;

  std::unique_ptr<State> state_;
};

template <typename W, typename Callback>
WaitGroup(WaitEngine&, std::vector<W>, WaitGroupOptions, Callback)
    -> WaitGroup<typename W::value_type>;

}  // namespace waiter

#endif  // WAITER_WAIT_GROUP_H_
