// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Several waits on a `WaitEngine` (wait_engine.h) with one callback: for all of
// them, for any, or for the first few that succeed.
//
//   std::vector<waiter::Waiter<CheckReplica>> waits = ...;
//   waiter::WaitGroup group(
//       engine, std::move(waits), {.successes_required = 2},
//       [](std::vector<waiter::WaitResult<Replica>> results) {
//         // In the order of `waits`. The reason of those that were not needed
//         // is `kCancelled`.
//       });
//
// Without `successes_required` the callback comes when every wait has ended by
// itself, in success or not:
//
//   waiter::WaitGroup all(engine, std::move(waits), {}, LogFailures);

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

// Owns its waits, whose successes bring a `T` or nothing, as a `WaitHandle`
// owns one. Destroying the group cancels the waits without a callback; it
// blocks while one of their functions or the callback runs on another thread.
// It may be destroyed in the callback, and after the engine.
//
// Movable. `Cancel` may be called from any thread, also while the callback
// runs. A group takes 40 bytes for each wait besides the wait itself, and the
// result of each wait once that has ended.
template <typename T = void>
class [[nodiscard]] WaitGroup {
 public:
  // `void(std::vector<WaitResult<T>>)`, move-only.
  using Callback = typename internal::WaitGroupState<T>::Callback;

  // Starts `waits`, which are of type `Waiter` or `AsyncWaiter`. Calls
  // `callback` exactly once, on a thread of the engine and never inside of this
  // constructor, when all waits have ended, cancelled ones included. For no
  // waits, the callback comes with an empty vector. The results are in the
  // order of `waits`.
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
    // One more wait keeps the callback out of this constructor.
    state->Add(waits.size(),
               engine.Start(Waiter([] { return true; },
                                   {.timeout = absl::ZeroDuration()}),
                            [state](WaitResult<>&&) { state->Leave(); }));
  }

  WaitGroup(WaitGroup&&) noexcept = default;
  WaitGroup& operator=(WaitGroup&&) noexcept = default;

  // Cancels all waits, as `WaitHandle::Cancel` does. The callback still comes.
  void Cancel() {
    if (state_ != nullptr) state_->CancelAll();
  }

  // Gives up ownership: the waits go on by themselves until the callback has
  // run. Afterwards this group owns no waits.
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
