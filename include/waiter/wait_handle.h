// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A wait that runs on a `WaitEngine` (wait_engine.h):
//
//   waiter::WaitHandle wait = engine.Start(wait_until_running, Use);
//   wait.Cancel();  // Use gets a result: cancelled.
//
// Keep it where what the callables refer to is kept, declared after that: once
// it is destroyed, neither of them runs.

#ifndef WAITER_WAIT_HANDLE_H_
#define WAITER_WAIT_HANDLE_H_

#include <stop_token>
#include <utility>

#include "waiter/internal/engine_ref.h"

namespace waiter {

namespace internal {
class WaitStarter;
}  // namespace internal

// Owns a wait. Movable; thread-compatible, but any thread may use it, also in a
// callback or a status function, and after the engine is gone. 32 bytes.
class [[nodiscard]] WaitHandle {
 public:
  WaitHandle() = default;  // Of no wait; every call does nothing.
  WaitHandle(WaitHandle&& other) noexcept = default;
  WaitHandle& operator=(WaitHandle&& other) noexcept {
    Destroy();
    wait_ = std::exchange(other.wait_, {});
    stop_ = std::move(other.stop_);
    return *this;
  }

  // Cancels the wait without a callback, and frees the callables. Blocks while
  // one of them runs on another thread, so on two threads they must not destroy
  // each other's handles. From inside of one of them it returns, and the wait
  // is over once that has returned.
  ~WaitHandle() { Destroy(); }

  // Requests a stop. The callback then gets the reason `kCancelled`, unless the
  // wait ends for another before it is told. No poll starts after this; a poll
  // under way is awaited if it is synchronous, and its success or failure wins.
  void Cancel();

  // Lets the wait go on by itself, to its callback.
  void Detach();

  // Returns whether the wait has not ended yet, its callback included.
  bool pending() const;

 private:
  friend class internal::WaitStarter;

  WaitHandle(internal::EngineWaitRef wait, std::stop_source stop)
      : wait_(std::move(wait)), stop_(std::move(stop)) {}

  void Destroy();

  internal::EngineWaitRef wait_;
  // Has a state only if the status function takes a context.
  std::stop_source stop_{std::nostopstate};
};

}  // namespace waiter

#endif  // WAITER_WAIT_HANDLE_H_
