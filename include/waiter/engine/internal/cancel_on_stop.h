// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The stop token of a wait of a `WaitEngine` (engine/engine.h): a request
// cancels the wait.
//
//   CancelOnStop on_stop(std::move(stop));
//   StopLink* link = on_stop.link();
//   ... // Make the wait, which takes `on_stop`.
//   CancelOnStop::Arm(link, wait);  // Before it begins.
//
// The wait may end while another thread is in the request. It does not await
// that thread, as the destructor of a `stop_callback` would, because code that
// the request calls may itself await the wait.

#ifndef WAITER_ENGINE_INTERNAL_CANCEL_ON_STOP_H_
#define WAITER_ENGINE_INTERNAL_CANCEL_ON_STOP_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "waiter/engine/handle.h"
#include "waiter/engine/internal/wait_canceller.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// Cancels a wait on request. Deletes itself once it is released and no request
// is in progress.
class StopLink {
 public:
  explicit StopLink(waiter::stop_token stop) : stop_(std::move(stop)) {}

  StopLink(const StopLink&) = delete;
  StopLink& operator=(const StopLink&) = delete;

  void Arm(const WaitCanceller& wait) {
    wait_ = wait;
    on_stop_.emplace(std::move(stop_), Callback{this});
  }

  void Release() {
    if (state_.exchange(State::kReleased, std::memory_order_acq_rel) !=
        State::kCancelling) {
      // Awaits a thread that is about to call `Cancel`, which then returns.
      delete this;
    }
  }

 private:
  enum class State : uint8_t { kIdle, kCancelling, kReleased };

  struct Callback {
    void operator()() const { link->Cancel(); }

    StopLink* link;
  };

  ~StopLink() = default;

  void Cancel() {
    if (!Move(State::kIdle, State::kCancelling)) return;
    wait_.Cancel();
    if (!Move(State::kCancelling, State::kIdle)) delete this;
  }

  // Returns false if this was released.
  bool Move(State from, State to) {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                          std::memory_order_acquire);
  }

  std::atomic<State> state_ = State::kIdle;
  waiter::stop_token stop_;
  WaitCanceller wait_;
  // Destroyed first, as its callback uses the others.
  std::optional<waiter::stop_callback<Callback>> on_stop_;
};

// Cancels a wait on request until it is destroyed.
class CancelOnStop {
 public:
  explicit CancelOnStop(waiter::stop_token stop)
      : link_(stop.stop_possible() ? new StopLink(std::move(stop)) : nullptr) {}

  CancelOnStop(CancelOnStop&& other) noexcept
      : link_(std::exchange(other.link_, nullptr)) {}
  CancelOnStop& operator=(CancelOnStop&&) = delete;
  ~CancelOnStop() {
    if (link_ != nullptr) link_->Release();
  }

  // Returns the argument of `Arm`; null if no stop is possible. Valid until
  // this, or the object to which it was moved, is destroyed.
  StopLink* link() const { return link_; }

  // Makes a request of a stop cancel `wait` from now on, and cancels it
  // immediately if there was one. Throws nothing.
  static void Arm(StopLink* link, const WaitHandle& wait) {
    if (link != nullptr) link->Arm(wait.wait_);
  }

 private:
  StopLink* link_;
};

// The callback of a wait together with its stop token.
template <typename Callback>
struct StoppableCallback {
  template <typename Result>
  void operator()(Result&& result) {
    callback(std::forward<Result>(result));
  }

  Callback callback;
  CancelOnStop on_stop;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_CANCEL_ON_STOP_H_
