// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The timers of a worker's waits. A wait has at most one. The queue below
// cannot remove timers, so a stamp in the record says which of its timers
// counts; the others are stale, and skipped.
//
// Invariants:
//  * At most one timer of a wait counts, and its record has the stamp.
//  * There are at most about 1024 more stale timers than timers that count.

#ifndef WAITER_ENGINE_WAIT_TIMERS_H_
#define WAITER_ENGINE_WAIT_TIMERS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "waiter/clock.h"
#include "waiter/engine/engine_record.h"
#include "waiter/engine/record_pool.h"
#include "waiter/engine/timer_queue.h"

namespace waiter::internal {

// Thread-compatible.
class WaitTimers {
 public:
  using Timer = TimerQueue::Timer;

  // Times are rounded up to multiples of `tick` after `start`, and may come
  // later by `relative_slack` of their delay. `pool` must outlive this.
  WaitTimers(MonotonicTime start, std::chrono::nanoseconds tick,
             double relative_slack, const RecordPool& pool)
      : pool_(pool), relative_slack_(relative_slack), queue_(start, tick) {}

  // Returns whether there is no tick.
  bool is_exact() const { return queue_.is_exact(); }

  // Sets the timer of a wait that has none. Slack may delay it until `latest`.
  // Does nothing if `wake_up` is `MonotonicTime::max()`.
  void Set(EngineRecord& record, MonotonicTime now, MonotonicTime wake_up,
           MonotonicTime latest) {
    if (wake_up == MonotonicTime::max()) return;
    using std::chrono::nanoseconds;
    nanoseconds slack = nanoseconds::zero();
    if (relative_slack_ > 0) {
      slack = std::min(std::chrono::duration_cast<nanoseconds>((wake_up - now) *
                                                               relative_slack_),
                       std::max(latest - wake_up, nanoseconds::zero()));
    }
    if (queue_.size() > 2 * wanted_ + kStaleTimers) Sweep();
    record.stamp = queue_.Add(record.index, wake_up, slack);
    record.has_timer = true;
    ++wanted_;
  }

  // Cancels the timer of a wait, if it has one.
  void Clear(EngineRecord& record) {
    if (!record.has_timer) return;
    record.has_timer = false;
    --wanted_;
  }

  // Returns whether `timer` counts for its wait.
  static bool Counts(const EngineRecord& record, Timer timer) {
    return record.has_timer && record.stamp == timer.stamp;
  }

  // Returns when the timer of a wait comes, or `now` if it was taken; `max()`
  // if the wait has none.
  MonotonicTime TimeOf(const EngineRecord& record, MonotonicTime now) const {
    if (!record.has_timer) return MonotonicTime::max();
    return queue_.TimeOf({.index = record.index, .stamp = record.stamp}, now);
  }

  // Appends the timers that are due, stale ones included, in the order of
  // their times. `now` must not step back.
  void TakeDue(MonotonicTime now, std::vector<Timer>& due) {
    queue_.TakeDue(now, due);
  }

  bool HasDue(MonotonicTime now) const { return queue_.NextWakeUp() <= now; }

  // Returns when to call `TakeDue` next; `max()` if no wait has a timer.
  MonotonicTime NextWakeUp() const {
    return wanted_ == 0 ? MonotonicTime::max() : queue_.NextWakeUp();
  }

 private:
  static constexpr size_t kStaleTimers = 1024;

  void Sweep() {
    queue_.Sweep([&](Timer timer) { return Counts(pool_[timer.index], timer); },
                 [&](Timer timer) { return &pool_[timer.index].stamp; });
  }

  const RecordPool& pool_;
  const double relative_slack_;
  TimerQueue queue_;
  size_t wanted_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_WAIT_TIMERS_H_
