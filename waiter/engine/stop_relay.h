// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Notifies the poll in progress on a worker's thread, by its stop token, that
// the engine is being destroyed.

#ifndef WAITER_ENGINE_STOP_RELAY_H_
#define WAITER_ENGINE_STOP_RELAY_H_

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "waiter/internal/mutex.h"
#include "waiter/stop_token.h"

namespace waiter::internal {

// Thread-safe.
class StopRelay {
 public:
  // Makes `stop` the stop source of the poll in progress, until the result is
  // destroyed.
  [[nodiscard]] auto BeginPoll(const waiter::stop_source& stop) {
    Set(stop);
    return absl::MakeCleanup(
        [this] { Set(waiter::stop_source(waiter::nostopstate)); });
  }

  // Requests a stop of the poll in progress, and of every later one.
  void RequestStop() {
    waiter::stop_source current(waiter::nostopstate);
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
      current = current_;
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): it is copied, not moved.
    current.request_stop();
  }

 private:
  // Destroys the former stop source without the lock.
  void Set(waiter::stop_source stop) {
    bool stopping = false;
    {
      const MutexLock lock(mutex_);
      current_.swap(stop);
      stopping = stopping_;
    }
    if (stopping) RequestStop();
  }

  Mutex mutex_;
  waiter::stop_source current_ ABSL_GUARDED_BY(mutex_){waiter::nostopstate};
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_STOP_RELAY_H_
