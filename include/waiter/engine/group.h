// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Several waits on a `WaitEngine` (engine/engine.h) with one callback, for all
// of them, for any, or for the first few that succeed:
//
//   std::vector<waiter::Waiter<CheckReplica>> waits = ...;
//   waiter::WaitGroup group = waiter::FirstN(
//       2, engine, std::move(waits),
//       [](std::vector<waiter::WaitResult<Replica>> results) {
//         // In the order of `waits`. Waits that were not needed have the
//         // reason `kCancelled`.
//       });
//
// `All(engine, waits, callback)` and `Any(engine, waits, callback)` work the
// same way. All three take options with a stop token and a name per wait:
//
//   waiter::WaitGroup replicas =
//       waiter::All(engine, std::move(waits), LogFailures,
//                   {.stop = stop.get_token(), .names = {"db-1", "db-2"}});
//
// A group without options calls back when every wait has ended on its own,
// successful or not:
//
//   waiter::WaitGroup each(engine, std::move(waits), {}, LogFailures);
//
// engine/coroutine.h has the same for coroutines.

#ifndef WAITER_ENGINE_GROUP_H_
#define WAITER_ENGINE_GROUP_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/internal/wait_group_state.h"
#include "waiter/internal/exceptions.h"
#include "waiter/observer.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/version.h"
#include "waiter/waiter.h"

namespace waiter {

// Options of a `WaitGroup`. `successes_required` decides when the group cancels
// the waits that are still pending. For `n` waits:
//
//   {}                          All waits continue to their own ends.
//   {.successes_required = 1}   The first success decides: `Any`.
//   {.successes_required = n}   The first failure decides: `All`.
//   {.successes_required = k}   The kth success decides, or as many failures
//                               as make k successes impossible: `FirstN`.
//
// Every wait also keeps its own limits: its timeout, attempts and budgets apply
// as they do outside a group.

// A value. No combination is invalid.
struct WaitGroupOptions {
  // Number of successes that are enough. The group cancels the other waits as
  // soon as that many have succeeded, or so many have ended without success
  // that the number is out of reach. Zero, or more than the number of waits,
  // cancels all waits immediately.
  //
  // The result of a wait that was not needed has the reason `kCancelled`,
  // unless the wait ended on its own first; so there may be more successes than
  // this.
  //
  // The group awaits a synchronous poll that is in progress at that moment; its
  // success or failure still counts for that wait.
  //
  // Unset: the group cancels no wait. The callback comes when the last wait has
  // ended.
  std::optional<size_t> successes_required = std::nullopt;

  // A request ends every wait that is still pending, as `WaitGroup::Cancel`
  // does, and the callback comes once all have ended. Waits that ended before
  // keep their results; a request after the last end has no effect. If the
  // request came before the group, no wait is polled. Detaching the group does
  // not detach it from `stop`. Takes memory for a stop callback for each wait
  // until that wait ends.
  waiter::stop_token stop = {};

  // Names of the waits in messages and hooks, in the order of the waits, for
  // waits that share a policy. A wait without one, or with an empty one, has
  // the name of its policy; extra names are ignored.
  std::vector<std::string> names = {};
};

template <typename W>
class WaitGroupAwaiter;

// Owns its waits, as a `WaitHandle` owns one. `T` is the type of the value of
// their successes, or void. Destroying the group cancels the waits without a
// callback; it blocks while one of their functions or the callback runs on
// another thread. It may be destroyed in the callback, and after the engine.
//
// Movable. `Cancel` may be called from any thread, even while the callback
// runs. A group takes 72 bytes for each wait besides the wait itself, plus the
// result of each ended wait.
template <typename T = void>
class [[nodiscard]] WaitGroup {
 public:
  // `void(std::vector<WaitResult<T>>)`, move-only.
  using Callback = typename internal::WaitGroupState<T>::Callback;

  // Starts `waits`, which are of type `Waiter` or `AsyncWaiter`. Calls
  // `callback` exactly once, on a thread of the engine and never inside this
  // constructor, when all waits have ended, cancelled ones included. Without
  // waits, the vector is empty. The results are in the order of `waits`.
  // Running out of memory when a wait ends terminates the program.
  template <typename W>
  WaitGroup(WaitEngine& engine, std::vector<W> waits, WaitGroupOptions options,
            Callback callback)
      : state_(new State(waits.size(), options.successes_required,
                         std::move(callback))) {
    WAITER_TRY {
      StartAll(engine, std::move(waits), std::move(options), *state_);
    }
    WAITER_CATCH(...) {
      Destroy();
      WAITER_RETHROW;
    }
  }

  WaitGroup(WaitGroup&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}

  // Destroys the waits that this owned before, as the destructor does.
  WaitGroup& operator=(WaitGroup&& other) noexcept {
    Destroy();
    state_ = std::exchange(other.state_, nullptr);
    return *this;
  }

  ~WaitGroup() { Destroy(); }

  // Cancels all waits, as `WaitHandle::Cancel` does. The callback still comes.
  void Cancel() {
    if (state_ == nullptr) return;
    // Code that the request wakes may destroy this.
    State& state = *state_;
    state.AddReference();
    state.CancelAll();
    state.RemoveReference();
  }

  // Gives up ownership: the waits continue by themselves until the callback has
  // run. Afterwards this group owns no waits.
  void Detach() {
    if (state_ != nullptr) std::exchange(state_, nullptr)->RemoveReference();
  }

 private:
  template <typename W>
  friend class WaitGroupAwaiter;

  using State = internal::WaitGroupState<T>;

  // Takes over the first reference to `state`, whose waits have not begun.
  explicit WaitGroup(State* state) : state_(state) {}

  // As soon as this has started the last wait, `state` may lack other
  // references and the group may be gone.
  template <typename W>
  static void StartAll(WaitEngine& engine, std::vector<W> waits,
                       WaitGroupOptions options, State& state) {
    options.names.resize(waits.size());
    for (size_t i = 0; i < waits.size(); ++i) {
      typename State::OnEnd on_end(state, i);
      state.Add(i, engine.Start(std::move(waits[i]), std::move(on_end),
                                {.name = std::move(options.names[i]),
                                 .stop = options.stop}));
    }
    // One more wait keeps the callback from coming before all have begun.
    const size_t own = waits.size();
    state.Add(own,
              engine.Start(Waiter([] { return true; },
                                  {.timeout = absl::ZeroDuration(),
                                   .hooks = {.observer = internal::Nobody()}}),
                           typename State::OnEnd(state, own)));
  }

  void Destroy() {
    if (state_ == nullptr) return;
    State& state = *std::exchange(state_, nullptr);
    state.Abandon();
    state.RemoveReference();
  }

  State* state_;
};

template <typename W, typename Callback>
WaitGroup(WaitEngine&, std::vector<W>, WaitGroupOptions, Callback)
    -> WaitGroup<typename W::value_type>;

// Returns a group that needs `n` successes. It cancels the other waits as soon
// as that many have succeeded, or no longer can. Sets
// `options.successes_required`.
template <typename W, typename Callback>
WaitGroup<typename W::value_type> FirstN(size_t n, WaitEngine& engine,
                                         std::vector<W> waits,
                                         Callback callback,
                                         WaitGroupOptions options = {}) {
  options.successes_required = n;
  return {engine, std::move(waits), std::move(options), std::move(callback)};
}

// The first success is enough.
template <typename W, typename Callback>
WaitGroup<typename W::value_type> Any(WaitEngine& engine, std::vector<W> waits,
                                      Callback callback,
                                      WaitGroupOptions options = {}) {
  return FirstN(1, engine, std::move(waits), std::move(callback),
                std::move(options));
}

// All must succeed: the first end without success cancels the others.
template <typename W, typename Callback>
WaitGroup<typename W::value_type> All(WaitEngine& engine, std::vector<W> waits,
                                      Callback callback,
                                      WaitGroupOptions options = {}) {
  const size_t count = waits.size();
  return FirstN(count, engine, std::move(waits), std::move(callback),
                std::move(options));
}

}  // namespace waiter

#endif  // WAITER_ENGINE_GROUP_H_
