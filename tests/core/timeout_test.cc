// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::timeout_test {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(TimeoutTest, TakesDurationsOfAbseilAndOfTheStandard) {
  EXPECT_EQ(WaitOptions{.timeout = 5s}.timeout, absl::Seconds(5));
  EXPECT_EQ(WaitOptions{.timeout = 1500ms}.timeout, absl::Milliseconds(1500));
  EXPECT_EQ(WaitOptions{.timeout = -1h}.timeout, -absl::Hours(1));
  EXPECT_EQ(WaitOptions{.timeout = absl::Hours(1)}.timeout, absl::Hours(1));
  EXPECT_EQ(WaitOptions{}.timeout, std::nullopt);
  EXPECT_EQ(OptionalDuration(std::chrono::duration<double>(0.25)),
            OptionalDuration(absl::Milliseconds(250)));
}

TEST(TimeoutTest, DurationsBeyondAllTimeAreInfinite) {
  EXPECT_EQ(*OptionalDuration(std::chrono::hours::max()),
            absl::InfiniteDuration());
  EXPECT_EQ(*OptionalDuration(std::chrono::hours::min()),
            -absl::InfiniteDuration());
  EXPECT_EQ(*OptionalDuration(std::chrono::nanoseconds::max()),
            absl::InfiniteDuration());
  EXPECT_EQ(*OptionalDuration(std::chrono::duration<double>(
                std::numeric_limits<double>::infinity())),
            absl::InfiniteDuration());
  EXPECT_EQ(*OptionalDuration(std::chrono::hours(24 * 365 * 200)),
            absl::Hours(24 * 365 * 200));
}

TEST(TimeoutTest, CanBeAssigned) {
  WaitOptions options;
  options.timeout = 2s;
  EXPECT_EQ(options.timeout, absl::Seconds(2));
  options.timeout.reset();
  EXPECT_FALSE(options.timeout.has_value());
  options.timeout = std::optional<absl::Duration>(absl::Seconds(3));
  EXPECT_EQ(options.timeout.value_or(absl::ZeroDuration()), absl::Seconds(3));
}

TEST(TimeoutTest, WaiterTakesADurationAlone) {
  EXPECT_TRUE(Waiter([] { return true; }, absl::Seconds(5)).Wait().ok());
  EXPECT_TRUE(Waiter([] { return true; }, 5s).Wait().ok());
  EXPECT_EQ(Waiter([] { return false; }, 0s).Wait().reason(),
            StopReason::kDeadline);
  [[maybe_unused]] const AsyncWaiter wait([](const PollCompletion<>&) {}, 5s);
}

TEST(TimeoutTest, ConversionsDoNotOverflowOnTheWay) {
  using Ticks = std::chrono::duration<int64_t, std::ratio<1, 90000>>;
  constexpr int64_t kSeconds = int64_t{40} * 365 * 24 * 3600;

  EXPECT_EQ(*OptionalDuration(Ticks(kSeconds * 90000)),
            absl::Seconds(kSeconds));
}

// A wait without a timeout is an error; an infinite timeout would not be.
TEST(TimeoutTest, WhatIsNotANumberIsUnset) {
  EXPECT_FALSE(OptionalDuration(std::chrono::duration<double>(
                                    std::numeric_limits<double>::quiet_NaN()))
                   .has_value());
}

TEST(TimeoutTest, ValueCanBeChangedInPlace) {
  WaitOptions options = {.timeout = absl::Seconds(3)};
  *options.timeout *= 2;
  EXPECT_EQ(options.timeout, absl::Seconds(6));
}

TEST(TimeoutTest, NumbersAreNoTimes) {
  static_assert(!std::constructible_from<OptionalDuration, int>);
  static_assert(!std::constructible_from<OptionalDuration, double>);
}

}  // namespace
}  // namespace waiter::timeout_test
