// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The clock of a store, compared with the clock of this process. Made
// from replies with the store's time:
//
//   StoreClock clock;
//   clock.Observe(sent, received, store_time);
//   std::optional<std::chrono::microseconds> time = clock.At(now);

#ifndef WAITER_REDIS_STORE_CLOCK_H_
#define WAITER_REDIS_STORE_CLOCK_H_

#include <chrono>
#include <deque>
#include <optional>

#include "waiter/clock.h"

namespace waiter::internal {

// Thread-compatible. Uses the fastest reply of the last minute: the time in its
// middle is off by at most half of its round trip.
class StoreClock {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  static constexpr Nanoseconds kMemory = std::chrono::minutes(1);

  // `store_time` is on the store's scale, such as Unix time.
  void Observe(MonotonicTime sent, MonotonicTime received,
               std::chrono::microseconds store_time) {
    const Nanoseconds trip = received - sent;
    // An earlier, slower sample never becomes the fastest again.
    while (!samples_.empty() && samples_.back().trip >= trip) {
      samples_.pop_back();
    }
    samples_.push_back(
        {received, trip, store_time - (sent.time_since_epoch() + trip / 2)});
    while (received - samples_.front().received > kMemory) {
      samples_.pop_front();
    }
  }

  // Returns the store's time at `now`; nullopt if it was never observed.
  std::optional<std::chrono::microseconds> At(MonotonicTime now) const {
    if (samples_.empty()) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::microseconds>(
        now.time_since_epoch() + samples_.front().offset);
  }

 private:
  struct Sample {
    MonotonicTime received;
    Nanoseconds trip;
    Nanoseconds offset;
  };

  // From the fastest to the latest one, with growing trips.
  std::deque<Sample> samples_;
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_STORE_CLOCK_H_
