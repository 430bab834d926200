// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The time of a worker of a `WaitEngine`, read as seldom as its promises allow:
// a reading costs a tenth of a poll.
//
//   clock.BeginRound();
//   for (...) {
//     Poll();
//     loop.OnPoll(clock.EndOfPoll(/*exact=*/false), ...);
//   }
//
// Invariants:
//  * `now()` does not step back.
//  * An exact reading is never old. Any other one is at most
//    `Clock::kMaxReadingAge` old, and no older than 16 polls that take at most
//    1 us each on average.

#ifndef WAITER_ENGINE_POLL_CLOCK_H_
#define WAITER_ENGINE_POLL_CLOCK_H_

#include <algorithm>
#include <chrono>

#include "waiter/clock.h"

namespace waiter::internal {

// Thread-compatible.
class PollClock {
 public:
  explicit PollClock(Clock& clock) : clock_(clock) {}

  // Returns the last reading.
  MonotonicTime now() const { return now_; }

  // Reads the clock.
  void BeginRound() {
    now_ = clock_.MonotonicNow();
    polls_since_reading_ = 0;
  }

  // Returns whether `now()` may be older than the end of the last poll.
  bool is_shared() const { return polls_since_reading_ > 0; }

  // Reads the clock again. Returns by how much `now()` was behind.
  std::chrono::nanoseconds Refresh() {
    const MonotonicTime before = now_;
    BeginRound();
    return now_ - before;
  }

  // Returns the time at the end of a poll. Quick polls share a reading unless
  // it must be `exact`.
  MonotonicTime EndOfPoll(bool exact) {
    ++polls_since_reading_;
    if (!exact && polls_since_reading_ < polls_per_reading_ &&
        clock_.MonotonicNowBefore(MonotonicTime::max()) <= now_) {
      return now_;
    }
    const MonotonicTime now = clock_.MonotonicNow();
    polls_per_reading_ =
        now - now_ <= polls_since_reading_ * kQuickPoll
            ? std::min(2 * polls_per_reading_, kMostPollsPerReading)
            : 1;
    polls_since_reading_ = 0;
    now_ = now;
    return now;
  }

 private:
  static constexpr std::chrono::microseconds kQuickPoll{1};
  static constexpr int kMostPollsPerReading = 16;

  Clock& clock_;
  MonotonicTime now_;
  int polls_per_reading_ = 1;
  int polls_since_reading_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_POLL_CLOCK_H_
