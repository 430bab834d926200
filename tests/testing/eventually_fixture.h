// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulated time and options for assertions that poll every second.

#ifndef WAITER_TESTS_TESTING_EVENTUALLY_FIXTURE_H_
#define WAITER_TESTS_TESTING_EVENTUALLY_FIXTURE_H_

#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

inline constexpr BackoffOptions kEverySecond = {
    .initial_delay = absl::Seconds(1),
    .max_delay = absl::Seconds(1),
    .jitter = Jitter::None()};

class EventuallyFixture : public testing::Test {
 protected:
  // Returns a function that records the time of its call and returns it.
  auto Elapsed() {
    return [this] {
      polled_at_.push_back(clock_.Elapsed());
      return clock_.Elapsed();
    };
  }

  EventuallyOptions Options(absl::Duration timeout) {
    return {.timeout = timeout, .backoff = kEverySecond, .clock = &clock_};
  }
  EventuallyOptions HoldFor(absl::Duration time) {
    return {.backoff = kEverySecond, .hold_for = time, .clock = &clock_};
  }

  SimulatedClock clock_;
  std::vector<absl::Duration> polled_at_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_TESTING_EVENTUALLY_FIXTURE_H_
