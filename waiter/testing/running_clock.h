// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A clock that stops while the program is stopped, so that a stop does not use
// up a limit.

#ifndef WAITER_TESTING_RUNNING_CLOCK_H_
#define WAITER_TESTING_RUNNING_CLOCK_H_

#include <string_view>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter {

// Shows the time of another clock, without the times in which the program was
// stopped: by SIGSTOP, by a debugger, or with its virtual machine. A stop shows
// in two ways:
//
// * A sleep ends more than `kThreshold` after its planned end.
// * More than `kThreshold` passes without a call of this clock, that is, in one
//   poll, and a debugger is attached afterwards.
//
// Any other long poll counts in full, because a slow poll looks the same. Only
// the thread that made it may use it.
class RunningClock final : public Clock {
 public:
  static constexpr absl::Duration kThreshold = absl::Seconds(1);

  // Leaves out at most `max_stopped` in all. `clock` must outlive this object.
  // `is_debugged` is called at most once for each long poll.
  RunningClock(Clock& clock, absl::Duration max_stopped, bool (*is_debugged)());

  absl::Time TimeNow() override { return clock_.TimeNow(); }
  MonotonicTime MonotonicNow() override;
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override;

  // Returns the time that was left out.
  absl::Duration stopped() const { return stopped_; }

 private:
  void LeaveOut(absl::Duration stop);

  Clock& clock_;
  const absl::Duration max_stopped_;
  bool (*const is_debugged_)();
  absl::Duration stopped_;
  MonotonicTime last_call_;  // On the scale of `clock_`.
};

}  // namespace waiter

#endif  // WAITER_TESTING_RUNNING_CLOCK_H_
