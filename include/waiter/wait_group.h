// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Several waits of a `WaitEngine` (wait_engine.h) as one: all of them, any, or
// the first few that succeed.
//
//   std::vector<waiter::Waiter<AskReplica>> waits = ...;
//   waiter::WaitGroup group(
//       engine, std::move(waits), {.successes_needed = 2},
//       [](std::vector<waiter::WaitResult<Replica>> results) {
//         // In the order of `waits`; those that were not needed: cancelled.
//       });

#ifndef WAITER_WAIT_GROUP_H_
#define WAITER_WAIT_GROUP_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_result.h"
#include "waiter/waiter.h"

namespace waiter {

struct WaitGroupOptions {
  // How many successes are enough: 1 for «any». The other waits are cancelled
  // once there are so many, and once there cannot be any more, so that the
  // number of waits stands for «all, or give up at once». Unset: all waits go
  // on to their own ends.
  std::optional<size_t> successes_needed = std::nullopt;
};

// Owns waits that bring a `T`, as a `WaitHandle` owns one: destroying it
// cancels them without a callback. Movable; the functions are thread-safe. For
// each wait it takes the 32 bytes of a handle, and 8 more.
template <typename T = void>
class [[nodiscard]] WaitGroup {
 public:
  using Callback = absl::AnyInvocable<void(std::vector<WaitResult<T>>)>;

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
  struct State {
    State(size_t count, WaitGroupOptions options_in, Callback callback_in)
        : options(options_in),
          callback(std::move(callback_in)),
          waits(count + 1),
          results(count),
          left(count + 1),
          stopped(IsDecided()) {}

    // No callback of a wait is under way once its handle is destroyed.
    ~State() {
      std::unique_lock lock(mutex);
      std::vector<WaitHandle> handles = std::move(waits);
      lock.unlock();
    }

    bool IsDecided() const {
      return options.successes_needed.has_value() &&
             (successes >= *options.successes_needed ||
              results.size() - failures < *options.successes_needed);
    }

    void Add(size_t i, WaitHandle wait) {
      const std::lock_guard lock(mutex);
      waits[i] = std::move(wait);
      if (stopped && i < results.size()) waits[i].Cancel();
    }

    void CancelAll() {
      const std::lock_guard lock(mutex);
      Stop();
    }

    void Stop() {
      stopped = true;
      for (size_t i = 0; i + 1 < waits.size(); ++i) waits[i].Cancel();
    }

    void End(size_t i, WaitResult<T>&& result) {
      {
        const std::lock_guard lock(mutex);
        ++(result.ok() ? successes : failures);
        results[i] = std::make_unique<WaitResult<T>>(std::move(result));
        if (!stopped && IsDecided()) Stop();
      }
      Leave();
    }

    void Leave() {
      std::unique_lock lock(mutex);
      if (--left > 0) return;
      // The callback may destroy the group, and this with it.
      const std::unique_ptr<State> owned = std::move(self);
      Callback last_call = std::move(callback);
      std::vector<WaitResult<T>> all;
      all.reserve(results.size());
      for (auto& result : results) all.push_back(*std::move(result));
      lock.unlock();
      last_call(std::move(all));
    }

    std::mutex mutex;
    const WaitGroupOptions options;
    Callback callback;
    std::vector<WaitHandle> waits;  // The last is the constructor's own.
    std::vector<std::unique_ptr<WaitResult<T>>> results;
    size_t left;
    size_t successes = 0;
    size_t failures = 0;
    bool stopped;                 // All waits have been cancelled.
    std::unique_ptr<State> self;  // Once detached.
  };

  std::unique_ptr<State> state_;
};

template <typename W, typename Callback>
WaitGroup(WaitEngine&, std::vector<W>, WaitGroupOptions, Callback)
    -> WaitGroup<typename W::value_type>;

}  // namespace waiter

#endif  // WAITER_WAIT_GROUP_H_
