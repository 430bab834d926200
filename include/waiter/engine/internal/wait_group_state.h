// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// State that the waits of a `WaitGroup` (engine/group.h) share.

#ifndef WAITER_ENGINE_INTERNAL_WAIT_GROUP_STATE_H_
#define WAITER_ENGINE_INTERNAL_WAIT_GROUP_STATE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/wait_canceller.h"
#include "waiter/internal/mutex.h"
#include "waiter/result.h"

namespace waiter::internal {

// Thread-safe. The callback of each wait holds a reference, and so does the
// group until it is detached or destroyed: waits that end without a callback
// leave nothing behind.
//
// Runs no code of users under its lock: no callback, no code that a stop
// request calls, and no destructor of a wait's functions.
template <typename T>
class WaitGroupState {
 public:
  using Callback = absl::AnyInvocable<void(std::vector<WaitResult<T>>)>;

  WaitGroupState(size_t count, std::optional<size_t> successes_required,
                 Callback callback)
      : successes_required_(successes_required),
        callback_(std::move(callback)),
        waits_(count + 1),
        results_(count),
        own_(count),
        left_(count + 1),
        stopped_(IsDecided()) {
    cancellers_.reserve(count);
  }

  // Callback of the `i`th wait. The one after the last is the starter's own.
  class OnEnd {
   public:
    OnEnd(WaitGroupState& state, size_t i) : state_(&state), i_(i) {
      state.AddReference();
    }
    OnEnd(OnEnd&& other) noexcept
        : state_(std::exchange(other.state_, nullptr)), i_(other.i_) {}
    OnEnd& operator=(OnEnd&&) = delete;
    ~OnEnd() {
      if (state_ != nullptr) state_->RemoveReference();
    }

    template <typename Result>
    void operator()(Result&& result) {
      if constexpr (std::is_same_v<Result, WaitResult<T>>) {
        if (!state_->IsOwn(i_)) state_->End(i_, std::forward<Result>(result));
      }
      state_->Leave();
    }

   private:
    WaitGroupState* state_;
    size_t i_;
  };

  WaitGroupState(const WaitGroupState&) = delete;
  WaitGroupState& operator=(const WaitGroupState&) = delete;

  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveReference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Destroys all waits. Afterwards no callback runs, except one that this
  // thread is in.
  void Abandon() {
    std::vector<WaitHandle> waits;
    {
      const MutexLock lock(mutex_);
      abandoned_ = true;
      waits.swap(waits_);
    }
  }

  // Stores the handle of the `i`th wait, which may have ended already. The last
  // one is the starter's own, and is not cancelled.
  void Add(size_t i, WaitHandle wait) {
    WaitCanceller canceller = wait.wait_;
    {
      const MutexLock lock(mutex_);
      if (abandoned_) {
        // All waits have ended, and the group's callback has destroyed it.
        wait.Detach();
        return;
      }
      waits_[i] = std::move(wait);
      if (IsOwn(i)) return;
      if (!stopped_) {
        cancellers_.push_back(std::move(canceller));
        return;
      }
    }
    canceller.Cancel();
  }

  // Cancels all waits. If another call does so already, it may have come only
  // halfway, so this one ends all polls as well. Only the first notifies those
  // in progress, as their code may call this again.
  void CancelAll() {
    const auto [waits, is_first] = StopAdding();
    for (const WaitCanceller& wait : *waits) wait.EndPolls();
    if (!is_first) return;
    for (const WaitCanceller& wait : *waits) wait.NotifyPoll();
  }

  // Keeps the result of the `i`th wait.
  void End(size_t i, WaitResult<T>&& result) noexcept {
    auto stored = std::make_unique<WaitResult<T>>(std::move(result));
    bool decided = false;
    {
      const MutexLock lock(mutex_);
      ++(stored->ok() ? successes_ : failures_);
      results_[i] = std::move(stored);
      decided = !stopped_ && IsDecided();
    }
    if (decided) CancelAll();
  }

  // Counts a wait that has ended. The last one calls the group's callback.
  void Leave() {
    Callback callback;
    std::vector<WaitResult<T>> results;
    if (IsLast(callback, results)) callback(std::move(results));
  }

 private:
  bool IsOwn(size_t i) const { return i == own_; }

  // Returns all cancellers, which may be read without the lock from then on, as
  // `Add` adds no more. Also returns whether this is the first call.
  std::pair<const std::vector<WaitCanceller>*, bool> StopAdding() {
    const MutexLock lock(mutex_);
    return {&cancellers_, !std::exchange(stopped_, true)};
  }

  // Counts a wait that has ended. After the last one, takes the callback and
  // its argument, and returns true.
  bool IsLast(Callback& callback,
              std::vector<WaitResult<T>>& results) noexcept {
    const MutexLock lock(mutex_);
    if (--left_ > 0 || abandoned_) return false;
    callback = std::move(callback_);
    results.reserve(results_.size());
    for (auto& result : results_) results.push_back(std::move(*result));
    return true;
  }

  // Returns whether enough waits have succeeded, or too many have not.
  bool IsDecided() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return successes_required_.has_value() &&
           (successes_ >= *successes_required_ ||
            results_.size() - failures_ < *successes_required_);
  }

  ~WaitGroupState() = default;

  std::atomic<size_t> references_ = 1;
  Mutex mutex_;
  const std::optional<size_t> successes_required_;
  Callback callback_ ABSL_GUARDED_BY(mutex_);
  // The last one is the starter's own.
  std::vector<WaitHandle> waits_ ABSL_GUARDED_BY(mutex_);
  // Do not change once `stopped_`.
  std::vector<WaitCanceller> cancellers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<WaitResult<T>>> results_ ABSL_GUARDED_BY(mutex_);
  const size_t own_;  // Ordinal of the starter's own wait.
  // Waits that have not ended, the starter's own included.
  size_t left_ ABSL_GUARDED_BY(mutex_);
  size_t successes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t failures_ ABSL_GUARDED_BY(mutex_) = 0;  // All other ends.
  bool stopped_ ABSL_GUARDED_BY(mutex_);  // All waits are to be cancelled.
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_WAIT_GROUP_STATE_H_
