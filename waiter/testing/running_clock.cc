// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/running_clock.h"

#include <algorithm>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter {

RunningClock::RunningClock(Clock& clock, absl::Duration max_stopped,
                           bool (*is_debugged)())
    : clock_(clock),
      max_stopped_(max_stopped),
      is_debugged_(is_debugged),
      last_call_(clock.MonotonicNow()) {}

void RunningClock::LeaveOut(absl::Duration stop) {
  stopped_ = std::min(stopped_ + stop, std::max(max_stopped_, stopped_));
}

MonotonicTime RunningClock::MonotonicNow() {
  const MonotonicTime now = clock_.MonotonicNow();
  const absl::Duration silent = absl::FromChrono(now - last_call_);
  if (silent > kThreshold && is_debugged_()) LeaveOut(silent);
  last_call_ = now;
  return now - stopped_;
}

void RunningClock::SleepUntil(MonotonicTime wake_up,
                              const waiter::stop_token& stop,
                              std::string_view who) {
  const MonotonicTime planned =
      SaturatingAdd(wake_up, absl::ToChronoNanoseconds(stopped_));
  clock_.SleepUntil(planned, stop, who);
  last_call_ = clock_.MonotonicNow();
  if (planned == MonotonicTime::max()) return;
  const absl::Duration late = absl::FromChrono(last_call_ - planned);
  if (late > kThreshold) LeaveOut(late);
}

}  // namespace waiter
