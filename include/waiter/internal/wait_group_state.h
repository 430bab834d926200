// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What the waits of a `WaitGroup` (wait_group.h) share.

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

// Thread-safe.
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

  // No callback of a wait is under way once its handle is destroyed.
  ~WaitGroupState() {
    std::unique_lock lock(mutex);
    std::vector<WaitHandle> handles = std::move(waits);
    lock.unlock();
  }

  bool IsDecided() const {
    return options.successes_required.has_value() &&
           (successes >= *options.successes_required ||
            results.size() - failures < *options.successes_required);
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
  std::vector<WaitHandle> waits;  // The last is the constructor's own.
  std::vector<std::unique_ptr<WaitResult<T>>> results;
  size_t left;
  size_t successes = 0;
  size_t failures = 0;
  bool stopped;                          // All waits have been cancelled.
  std::unique_ptr<WaitGroupState> self;  // Once detached.
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_WAIT_GROUP_STATE_H_
