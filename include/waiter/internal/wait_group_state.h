// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// State that the waits of a `WaitGroup` (wait_group.h) share.

#ifndef WAITER_INTERNAL_WAIT_GROUP_STATE_H_
#define WAITER_INTERNAL_WAIT_GROUP_STATE_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "waiter/wait_group_options.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_result.h"

namespace waiter::internal {

// Thread-safe: `mutex` guards all members except `options`. `IsDecided` and
// `Stop` require it. Owned by the group, or, once that is detached, by itself.
template <typename T>
struct WaitGroupState {
  using Callback = absl::AnyInvocable<void(std::vector<WaitResult<T>>)>;

  WaitGroupState(size_t count, WaitGroupOptions options_in,
                 Callback callback_in)
      : options(options_in),
        callback(std::move(callback_in)),
        waits(count + 1),
        results(count),
        left(count + 1),
        stopped(IsDecided()) {}

  // Destroys the handles without the lock, because that may await callbacks
  // which take it. Afterwards no callback runs.
  ~WaitGroupState() {
    std::unique_lock lock(mutex);
    std::vector<WaitHandle> handles = std::move(waits);
    lock.unlock();
  }

  // Returns whether enough waits have succeeded, or too many have not.
  bool IsDecided() const {
    return options.successes_required.has_value() &&
           (successes >= *options.successes_required ||
            results.size() - failures < *options.successes_required);
  }

  // Stores the handle of the `i`th wait, which may have ended already.
  void Add(size_t i, WaitHandle wait) {
    const std::lock_guard lock(mutex);
    waits[i] = std::move(wait);
    if (stopped && i < results.size()) waits[i].Cancel();
  }

  void CancelAll() {
    const std::lock_guard lock(mutex);
    Stop();
  }

  // Cancels all waits except the constructor's own.
  void Stop() {
    stopped = true;
    for (size_t i = 0; i + 1 < waits.size(); ++i) waits[i].Cancel();
  }

  // Callback of the `i`th wait.
  void End(size_t i, WaitResult<T>&& result) {
    {
      const std::lock_guard lock(mutex);
      ++(result.ok() ? successes : failures);
      results[i] = std::make_unique<WaitResult<T>>(std::move(result));
      if (!stopped && IsDecided()) Stop();
    }
    Leave();
  }

  // Counts a wait that has ended. The last one calls the group's callback.
  void Leave() {
    std::unique_lock lock(mutex);
    if (--left > 0) return;
    // The callback may destroy the group, and this with it.
    const std::unique_ptr<WaitGroupState> owned = std::move(self);
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
  std::vector<WaitHandle> waits;  // The last one is the constructor's own.
  std::vector<std::unique_ptr<WaitResult<T>>> results;
  size_t left;  // Waits that have not ended, the constructor's own included.
  size_t successes = 0;
  size_t failures = 0;                   // Ended otherwise, also cancelled.
  bool stopped;                          // All waits have been cancelled.
  std::unique_ptr<WaitGroupState> self;  // Set if the group was detached.
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_WAIT_GROUP_STATE_H_
