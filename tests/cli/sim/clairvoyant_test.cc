// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/clairvoyant.h"

#include <limits>
#include <vector>

#include "cli/sim/known_durations.h"
#include "gtest/gtest.h"

namespace waiter::sim::clairvoyant_test {
namespace {

constexpr double kNoGuard = std::numeric_limits<double>::infinity();

TEST(ClairvoyantTest, PollsAtTheEndOfWhatIsAlwaysAsLong) {
  const Clairvoyant best(std::vector<double>(100, 60));

  // At 0 and 60.
  EXPECT_NEAR(best.At(1, kNoGuard).polls, 2, 1e-9);
  EXPECT_NEAR(best.At(1, kNoGuard).lateness, 0, 1e-9);
  // At 0, 30 and 60.
  EXPECT_NEAR(best.At(1, 2).polls, 3, 1e-9);
}

TEST(ClairvoyantTest, LooksTwiceIfTheSecondEndIsFar) {
  // Half ends at 10 s, and half at 100 s.
  std::vector<double> durations(50, 10);
  durations.resize(100, 100);
  const Clairvoyant best(durations);

  // At 0, at 10, and half of the waits at 100.
  EXPECT_NEAR(best.At(1, kNoGuard).polls, 2.5, 1e-9);
  // Polls at 0 and 100 save half a poll and are late by 45 s.
  EXPECT_NEAR(best.At(1000, kNoGuard).polls, 2, 1e-9);
  EXPECT_NEAR(best.At(1000, kNoGuard).lateness, 45, 1e-9);
  // At 0 and 10, and half of the waits at 20, 40, 80 and 100.
  EXPECT_NEAR(best.At(1, 2).polls, 2 + 0.5 * 4, 1e-9);
}

TEST(ClairvoyantTest, CostsLessThanAnyFixedInterval) {
  const std::vector<double> sample = Lognormal(60, 0.6).Sample(2000);
  const double best = Clairvoyant(sample).At(1, kNoGuard).At(1);
  for (const double interval : {2.0, 5.0, 8.0, 12.0, 20.0, 60.0}) {
    double cost = 0;
    for (const double duration : sample) {
      double polls = 0;
      while (polls * interval < duration) ++polls;
      cost += 1 + polls + polls * interval - duration;
    }
    EXPECT_LT(best, cost / 2000) << interval;
  }
}

TEST(ClairvoyantTest, FindsTheRateForALateness) {
  const Clairvoyant best(Lognormal(60, 0.6).Sample(2000));
  EXPECT_NEAR(best.At(best.WorthFor(3, 2), 2).lateness, 3, 0.1);
  // An operation that needs no lateness has none at any rate.
  EXPECT_NEAR(Clairvoyant({60}).WorthFor(3, 2), Clairvoyant::kMostWorth, 0.1);
}

}  // namespace
}  // namespace waiter::sim::clairvoyant_test
