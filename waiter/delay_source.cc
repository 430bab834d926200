// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/delay_source.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"

namespace waiter {

DelayFunction DelayList(std::vector<Duration> delays) {
  return [delays = std::move(delays)](const DelayRequest& request,
                                      absl::BitGenRef /*gen*/) {
    if (delays.empty()) return request.computed();
    const auto index = static_cast<size_t>(request.attempt - 1);
    const absl::Duration listed = delays[std::min(index, delays.size() - 1)];
    if (listed < absl::ZeroDuration()) return request.computed();
    return std::max(listed, request.retry_after);
  };
}

WatchedDelays::WatchedDelays(std::function<void()> poll_now, Duration delay)
    : poll_now_(std::move(poll_now)), delay_(delay) {}

// A wait whose poll was in progress polls once more, so that it reads the new
// state of the watch: a notification during a poll causes another one.
void WatchedDelays::OnConnected() {
  is_connected_.store(true, std::memory_order_release);
  poll_now_();
}

void WatchedDelays::OnChange() { poll_now_(); }

void WatchedDelays::OnBroken() {
  is_connected_.store(false, std::memory_order_release);
  poll_now_();
}

bool WatchedDelays::is_connected() const {
  return is_connected_.load(std::memory_order_acquire);
}

std::optional<absl::Duration> WatchedDelays::NextDelay(
    const DelayRequest& /*request*/, absl::BitGenRef gen) {
  if (!is_connected()) return std::nullopt;
  const std::chrono::nanoseconds delay = absl::ToChronoNanoseconds(delay_);
  return absl::FromChrono(UniformDelay(delay - delay / 4, delay, gen));
}

}  // namespace waiter
