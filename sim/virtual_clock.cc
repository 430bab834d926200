// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "sim/virtual_clock.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter::sim {

void VirtualClock::CallAt(MonotonicTime time, Function function) {
  calls_.push_back({std::max(time, now_), added_++, std::move(function)});
  std::push_heap(calls_.begin(), calls_.end(), IsLater);
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
  while (!calls_.empty() && calls_.front().time <= time) {
    std::pop_heap(calls_.begin(), calls_.end(), IsLater);
    const Call call = std::move(calls_.back());
    calls_.pop_back();
    now_ = call.time;
    call.function();
  }
  now_ = std::max(now_, time);
}

}  // namespace waiter::sim
