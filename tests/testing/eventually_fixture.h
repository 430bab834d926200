// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulated time and options for assertions that poll every second, and what
// their tests change: variables, and a clock that is not known as simulated.

#ifndef WAITER_TESTS_TESTING_EVENTUALLY_FIXTURE_H_
#define WAITER_TESTS_TESTING_EVENTUALLY_FIXTURE_H_

#include <stdlib.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/stop_token.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

inline constexpr BackoffOptions kEverySecond = {
    .initial_delay = absl::Seconds(1),
    .max_delay = absl::Seconds(1),
    .jitter = Jitter::None()};

// The clock of a machine that may stop the program in a sleep. It is a
// simulated clock in disguise, because real time is measured differently.
class StoppingClock final : public Clock {
 public:
  absl::Time TimeNow() override { return clock_.TimeNow(); }
  MonotonicTime MonotonicNow() override { return clock_.MonotonicNow(); }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override {
    clock_.SleepUntil(wake_up, stop, who);
    if (++sleeps_ == stop_in_sleep) clock_.AdvanceTime(stop_for);
  }

  absl::Duration Elapsed() { return clock_.Elapsed(); }
  void Advance(absl::Duration time) { clock_.AdvanceTime(time); }

  int stop_in_sleep = 0;
  absl::Duration stop_for;

 private:
  SimulatedClock clock_;
  int sleeps_ = 0;
};

// Sets a variable, or unsets it if `value` is null, while this object exists.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    const char* const old = getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    Set(value);
  }
  ~ScopedEnvironment() { Set(had_ ? old_.c_str() : nullptr); }

 private:
  void Set(const char* value) const {
#ifdef _WIN32
    _putenv_s(name_, value == nullptr
                         ? ""
                         : value);  // Windows has no empty variables.
#else
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
#endif
  }

  const char* name_;
  bool had_;
  std::string old_;
};

class EventuallyFixture : public testing::Test {
 protected:
  // Returns a function that records the time of its call and returns it.
  auto Elapsed() {
    return [this] {
      polled_at_.push_back(clock_.Elapsed());
      return clock_.Elapsed();
    };
  }

  // Returns a function that takes `time` and returns true.
  auto Slow(absl::Duration time) {
    return [this, time] {
      clock_.AdvanceTime(time);
      return true;
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
