// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// State that the stop sources, tokens and callbacks of one stop request share,
// where the standard library has no stop tokens (own_stop_token.h).
//
// Invariants:
//  * A stop is requested once, and callbacks are listed only before that.
//  * A callback runs without the lock, so it may use the state in any way.
//  * While a callback runs, `running_` is its node. `Remove` of this node waits
//    until that has changed, on any thread except the one that runs it.
//  * Once a callback has begun, its node is no longer touched, because the
//    callback may destroy it. `running_` is only compared then.

#ifndef WAITER_INTERNAL_STOP_STATE_H_
#define WAITER_INTERNAL_STOP_STATE_H_

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "waiter/internal/mutex.h"

namespace waiter::internal {

// The types that a stop state synchronizes with. Tests have models of them.
struct StopStateSync {
  using Mutex = internal::Mutex;
  using Lock = internal::MutexLock;
  using Condition = internal::Condition;
  using Flag = std::atomic<bool>;
  using Count = std::atomic<size_t>;
};

// Thread-safe.
template <typename Sync>
class BasicStopState {
  using Mutex = typename Sync::Mutex;
  using Lock = typename Sync::Lock;

 public:
  // Base class of a callback.
  class Node {
   public:
    using Function = void (*)(Node& node);

    explicit Node(Function run) noexcept : run_(run) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

   private:
    friend class BasicStopState;

    const Function run_;
    Node* next_ = nullptr;
    Node** link_ = nullptr;  // The pointer to this node; null if not listed.
  };

  BasicStopState() = default;
  BasicStopState(const BasicStopState&) = delete;
  BasicStopState& operator=(const BasicStopState&) = delete;

  // Counts the stop sources. Only the owner of one may add another.
  void AddSource() { sources_.fetch_add(1, kRelaxed); }
  void RemoveSource() { sources_.fetch_sub(1, std::memory_order_release); }

  // Counts the owners of the state, beginning with one. The owner for whom
  // `RemoveOwner` returns true is the last and must free the state.
  void AddOwner() { owners_.fetch_add(1, kRelaxed); }
  [[nodiscard]] bool RemoveOwner() {
    return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  bool stop_requested() const {
    return requested_.load(std::memory_order_acquire);
  }
  // The sources come first: the last one may request a stop, then go.
  bool stop_possible() const {
    return sources_.load(std::memory_order_acquire) != 0 || stop_requested();
  }

  // Requests a stop and runs the listed callbacks on the calling thread, the
  // latest first. Returns false, without effect, if a stop was requested
  // before. The caller must own the state until this returns.
  bool RequestStop() {
    {
      const Lock lock(mutex_);
      if (requested_.load(kRelaxed)) return false;
      requested_.store(true, std::memory_order_release);
      runner_ = std::this_thread::get_id();
    }
    while (Node* const node = NextToRun()) node->run_(*node);
    return true;
  }

  // Lists `node`, and returns true, if a stop may still be requested. Otherwise
  // returns false, after running the callback if a stop was requested.
  bool Add(Node& node) {
    {
      const Lock lock(mutex_);
      if (!stop_possible()) return false;
      if (!requested_.load(kRelaxed)) {
        List(node);
        return true;
      }
    }
    node.run_(node);
    return false;
  }

  // Ends what `Add` began when it returned true: the callback does not run
  // afterwards. Blocks while it runs on another thread.
  void Remove(Node& node) {
    const Lock lock(mutex_);
    if (node.link_ != nullptr) {
      Unlist(node);
    } else if (runner_ != std::this_thread::get_id()) {
      while (running_ == &node) ended_.Wait();
    }
  }

 private:
  static constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

  // Takes the next callback from the list. The one before has returned.
  Node* NextToRun() {
    const Lock lock(mutex_);
    running_ = first_;
    if (first_ != nullptr) Unlist(*first_);
    ended_.Notify();
    return running_;
  }

  void List(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    node.next_ = first_;
    node.link_ = &first_;
    if (first_ != nullptr) first_->link_ = &node.next_;
    first_ = &node;
  }
  void Unlist(Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    *node.link_ = node.next_;
    if (node.next_ != nullptr) node.next_->link_ = node.link_;
    node.link_ = nullptr;
  }

  typename Sync::Count owners_ = 1;
  typename Sync::Count sources_ = 0;
  typename Sync::Flag requested_ = false;  // Set under the lock.
  Mutex mutex_;
  typename Sync::Condition ended_{mutex_};  // A callback has returned.
  Node* first_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Node* running_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // The thread that requested the stop, and runs the callbacks.
  std::thread::id runner_ ABSL_GUARDED_BY(mutex_);
};

using StopState = BasicStopState<StopStateSync>;

// Owns a share of a state, or nothing.
class StopStateRef {
 public:
  StopStateRef() = default;
  // Takes over a share.
  explicit StopStateRef(StopState* state) noexcept : state_(state) {}

  StopStateRef(const StopStateRef& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->AddOwner();
  }
  StopStateRef(StopStateRef&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}
  StopStateRef& operator=(StopStateRef other) noexcept {
    swap(other);
    return *this;
  }
  ~StopStateRef() {
    if (state_ != nullptr && state_->RemoveOwner()) delete state_;
  }

  void swap(StopStateRef& other) noexcept { std::swap(state_, other.state_); }

  explicit operator bool() const noexcept { return state_ != nullptr; }
  StopState* operator->() const noexcept { return state_; }

  friend bool operator==(const StopStateRef& a,
                         const StopStateRef& b) noexcept {
    return a.state_ == b.state_;
  }

 private:
  StopState* state_ = nullptr;
};

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_STOP_STATE_H_
