// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The turns by which an `AsioEngineDriver` (interop/asio.h) runs its engine.
// Each is a function that is posted to the executor and calls
// `WaitEngine::RunDue`.
//
//   request of a turn             turn
//   -----------------             ----
//   old = flags |= all            flags = kBusy
//   if (!(old & kBusy)) post      RunDue, set the timer
//                                 if (flags != kBusy) post, else flags = 0
//
// So at most one turn is posted or in progress, which needs no strand, and a
// request during a turn is followed by another turn.

#ifndef WAITER_INTEROP_INTERNAL_ASIO_DRIVER_H_
#define WAITER_INTEROP_INTERNAL_ASIO_DRIVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "boost/asio/any_io_executor.hpp"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/system/error_code.hpp"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/internal/mutex.h"
#include "waiter/interop/internal/asio_turn.h"

namespace waiter::internal {

// Owned by the driver and by the functions on the executor. Thread-safe.
class AsioDriverState : public std::enable_shared_from_this<AsioDriverState> {
 public:
  explicit AsioDriverState(boost::asio::any_io_executor executor)
      : executor_(std::move(executor)), timer_(std::in_place, executor_) {}

  AsioDriverState(const AsioDriverState&) = delete;
  AsioDriverState& operator=(const AsioDriverState&) = delete;

  // Makes the engine, which exists until `Stop`.
  WaitEngine& MakeEngine(WaitEngineOptions options) {
    const MutexLock lock(mutex_);
    options.threads = 0;
    options.clock = nullptr;  // The real clock, like the timer's.
    options.wake = [this] { Request(kRequested); };
    engine_ = std::make_unique<WaitEngine>(options);
    return *engine_;
  }

  // Destroys the engine. No turn runs it afterwards.
  void Stop() {
    if (running_on_ == std::this_thread::get_id()) Terminate();
    const MutexLock lock(mutex_);
    engine_.reset();
    timer_.reset();
    work_.reset();
  }

 private:
  static constexpr uint8_t kBusy = 1;  // A turn is posted, or in progress.
  static constexpr uint8_t kRequested = 2;
  static constexpr uint8_t kTimerFired = 4;

  void Request(uint8_t why) {
    const uint8_t old = flags_.fetch_or(why | kBusy, std::memory_order_acq_rel);
    if ((old & kBusy) == 0) Post();
  }

  void Post() {
    boost::asio::post(executor_,
                      [state = shared_from_this()] { state->RunTurn(); });
  }

  void RunTurn() {
    AsioTurn turn(executor_);
    const uint8_t why = flags_.exchange(kBusy, std::memory_order_acq_rel);
    {
      const MutexLock lock(mutex_);
      if (engine_ == nullptr) return;
      if ((why & kTimerFired) != 0) timer_time_ = (MonotonicTime::max)();
      running_on_ = std::this_thread::get_id();
      const MonotonicTime next = RunEngine(turn);
      running_on_ = std::thread::id();
      if (next <= GetRealClock().MonotonicNow()) {
        flags_.fetch_or(kRequested, std::memory_order_relaxed);
      } else {
        SetTimer(next);
      }
    }
    uint8_t expected = kBusy;
    if (!flags_.compare_exchange_strong(expected, 0,
                                        std::memory_order_acq_rel)) {
      Post();
    }
    turn.CallHandlers();
  }

  MonotonicTime RunEngine(AsioTurn& turn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto scope = turn.Enter();
    return engine_->RunDue();
  }

  // Ends the program, with the engine's message, because a function of a wait
  // has called `Stop`. The turn on this thread holds the lock.
  void Terminate() ABSL_NO_THREAD_SAFETY_ANALYSIS { engine_.reset(); }

  // Requests a turn at `next`.
  void SetTimer(MonotonicTime next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (next == (MonotonicTime::max)()) {
      if (std::exchange(timer_time_, next) != next) timer_->cancel();
      // Asynchronous polls without a limit have no timer, but are work.
      if (engine_->statistics().pending == 0) {
        work_.reset();
      } else if (!work_.has_value()) {
        work_.emplace(executor_);
      }
      return;
    }
    work_.reset();
    // An earlier timer sets itself again.
    if (timer_time_ <= next) return;
    timer_time_ = next;
    timer_->expires_at(next);
    timer_->async_wait(
        [state = shared_from_this()](const boost::system::error_code& error) {
          if (!error) state->Request(kTimerFired);
        });
  }

  const boost::asio::any_io_executor executor_;
  std::atomic<uint8_t> flags_ = 0;
  std::atomic<std::thread::id> running_on_ = std::thread::id();
  // Held by a turn, so that the engine is not destroyed under it.
  Mutex mutex_;
  std::unique_ptr<WaitEngine> engine_ ABSL_GUARDED_BY(mutex_);
  // Set until `Stop`, like the engine.
  std::optional<boost::asio::steady_timer> timer_ ABSL_GUARDED_BY(mutex_);
  // Time at which `timer_` requests a turn; `max()` if it is not set.
  MonotonicTime timer_time_ ABSL_GUARDED_BY(mutex_) = (MonotonicTime::max)();
  std::optional<boost::asio::executor_work_guard<boost::asio::any_io_executor>>
      work_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_ASIO_DRIVER_H_
