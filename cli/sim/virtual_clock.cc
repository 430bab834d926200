// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/virtual_clock.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter::sim {

void VirtualClock::CallAt(MonotonicTime time, Function function) {
  calls_.emplace(std::max(time, now_), std::move(function));
}

void VirtualClock::Advance(absl::Duration duration) {
  MoveTo(SaturatingAdd(now_, absl::ToChronoNanoseconds(duration)));
}

void VirtualClock::SleepUntil(MonotonicTime wake_up,
                              const waiter::stop_token& /*stop*/,
                              std::string_view /*who*/) {
  MoveTo(wake_up);
}

void VirtualClock::MoveTo(MonotonicTime time) {
  while (!calls_.empty() && calls_.begin()->first <= time) {
    const auto call = calls_.extract(calls_.begin());
    now_ = call.key();
    call.mapped()();
  }
  now_ = std::max(now_, time);
}

}  // namespace waiter::sim
