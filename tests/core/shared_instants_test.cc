// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The instants at which the random delays of many waits end together.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/loop_steps.h"

namespace waiter::shared_instants_test {
namespace {

using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::waiter::internal::ToSharedInstant;

constexpr int64_t kLongestGap = int64_t{1} << 24;

int64_t EndOf(MonotonicTime start, nanoseconds delay) {
  return start.time_since_epoch().count() + delay.count();
}

TEST(SharedInstantsTest, DelaysStayInTheirIntervalAndNearWhatWasDrawn) {
  const uint64_t seed = FirstSeed();
  SplitMix64 gen(seed);
  SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
  for (int i = 0; i < 100'000 && !testing::Test::HasFailure(); ++i) {
    const nanoseconds low(static_cast<int64_t>(gen() >> (2 + gen() % 62)));
    const nanoseconds width(static_cast<int64_t>(gen() >> (2 + gen() % 62)));
    const nanoseconds high = low + width;
    const nanoseconds drawn = UniformDelay(low, high, gen);
    const MonotonicTime now(
        nanoseconds(static_cast<int64_t>(gen() >> (gen() % 64))));
    const nanoseconds moved = ToSharedInstant(now, low, high, drawn);

    EXPECT_GE(moved, low);
    EXPECT_LE(moved, high);
    const int64_t gap =
        std::min(static_cast<int64_t>(
                     std::bit_floor(static_cast<uint64_t>(width.count())) / 32),
                 kLongestGap);
    const int64_t by = std::abs((moved - drawn).count());
    if (gap == 0) {
      EXPECT_EQ(by, 0);
      continue;
    }
    const uint64_t end = static_cast<uint64_t>(now.time_since_epoch().count()) +
                         static_cast<uint64_t>(moved.count());
    EXPECT_EQ(end % static_cast<uint64_t>(gap), 0U);
    const bool is_near_an_end =
        std::min(drawn - low, high - drawn).count() < gap;
    EXPECT_LE(by, is_near_an_end ? gap : gap / 2);
  }
}

TEST(SharedInstantsTest, IntervalsOfOnePointAndBackwardOnesKeepTheirDelay) {
  const MonotonicTime now(milliseconds(77));
  for (const nanoseconds high : {nanoseconds(1000), nanoseconds(999)}) {
    EXPECT_EQ(ToSharedInstant(now, nanoseconds(1000), high, nanoseconds(1000)),
              nanoseconds(1000));
  }
}

TEST(SharedInstantsTest, InstantsOfAWideIntervalAreAmongThoseOfANarrowOne) {
  SplitMix64 gen(3);
  for (int i = 0; i < 1000; ++i) {
    const MonotonicTime now(nanoseconds(gen() >> 10));
    const nanoseconds wide(gen() >> 20);
    const nanoseconds narrow = wide / 3;
    const nanoseconds end =
        ToSharedInstant(now, nanoseconds(0), wide, wide / 2);
    // From there, a delay that ends at an instant stays as it is.
    const nanoseconds rest = narrow / 2;
    const MonotonicTime later(nanoseconds(EndOf(now, end - rest)));
    EXPECT_EQ(ToSharedInstant(later, nanoseconds(0), narrow, rest), rest);
  }
}

// Each wait has several delays, which begin where the one before ended, and at
// a full millisecond.
TEST(SharedInstantsTest, DelaysOfAFleetStayUniformExceptForTheirSteps) {
  const uint64_t seed = FirstSeed();
  SplitMix64 gen(seed);
  SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
  constexpr nanoseconds kLow = milliseconds(50);
  constexpr nanoseconds kHigh = milliseconds(100);
  std::vector<double> places;
  for (int wait = 0; wait < 20'000; ++wait) {
    MonotonicTime now(nanoseconds(gen() >> 10));
    for (int i = 0; i < 5; ++i) {
      const nanoseconds delay =
          ToSharedInstant(now, kLow, kHigh, UniformDelay(kLow, kHigh, gen));
      places.push_back(static_cast<double>((delay - kLow).count()) /
                       static_cast<double>((kHigh - kLow).count()));
      now = MonotonicTime(
          std::chrono::ceil<milliseconds>((now + delay).time_since_epoch()));
    }
  }
  std::sort(places.begin(), places.end());
  const auto size = static_cast<double>(places.size());
  double sum = 0;
  double farthest = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    sum += places[i];
    farthest =
        std::max(farthest, std::abs(places[i] - static_cast<double>(i) / size));
  }
  // A step is 1/47 of the interval. The errors are above 5 standard deviations.
  EXPECT_LT(farthest, 1.0 / 47 + 0.01);
  EXPECT_NEAR(sum / size, 0.5, 0.005);
}

}  // namespace
}  // namespace waiter::shared_instants_test
