// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/learned.h"

#include <cstddef>
#include <vector>

#include "cli/sim/known_durations.h"
#include "gtest/gtest.h"

namespace waiter::sim::learned_test {
namespace {

constexpr LearnedStudyOptions kFew = {.repetitions = 2};

TEST(KnownDurationsTest, QuantilesAreThoseOfTheKind) {
  EXPECT_NEAR(Lognormal(60, 0.6).quantile(0.5), 60, 1e-3);
  EXPECT_NEAR(Lognormal(60, 0.6).quantile(0.95), 161, 0.5);
  EXPECT_NEAR(Weibull(60, 1.5).quantile(0.5), 47, 0.1);
  EXPECT_NEAR(Gamma3(60).quantile(0.5), 53.5, 0.1);
  EXPECT_NEAR(Pareto(20, 1.5).quantile(0.5), 31.7, 0.1);
  EXPECT_EQ(ConstantDuration(60).quantile(0.9), 60);
  EXPECT_NEAR(Bimodal(5, 0.6, 300, 0.15).quantile(0.3), 5, 1e-2);
  EXPECT_NEAR(Bimodal(5, 0.6, 300, 0.15).quantile(0.8), 300, 1e-1);
  EXPECT_NEAR(AllKnownDurations().back().quantile(0.9), 21.35 * 60, 1e-6);
  EXPECT_NEAR(Weibull(60, 1.5).Times(4).quantile(0.5), 188, 0.3);
}

TEST(KnownDurationsTest, SampleIsSpreadEvenly) {
  for (const KnownDurations& durations : AllKnownDurations()) {
    const std::vector<double> sample = durations.Sample(11);
    ASSERT_EQ(sample.size(), 11) << durations.name;
    EXPECT_EQ(sample[5], durations.quantile(0.5)) << durations.name;
    for (size_t i = 1; i < sample.size(); ++i) {
      EXPECT_LE(sample[i - 1], sample[i]) << durations.name;
    }
  }
}

TEST(LearnedStudyTest, EqualSeedsGiveEqualFigures) {
  const std::vector<CrowdRow> rows = CompareCrowds(kFew);
  const std::vector<CrowdRow> again = CompareCrowds(kFew);
  ASSERT_EQ(rows.size(), again.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].peak, again[i].peak);
  }
}

TEST(LearnedStudyTest, ClientsThatShareAModelDoNotComeTogether) {
  const std::vector<CrowdRow> rows = CompareCrowds(kFew);
  for (const CrowdRow& row : rows) {
    EXPECT_LE(row.peak, row.default_peak) << row.name << " " << row.clients;
  }
}

TEST(LearnedStudyTest, NobodyIsLaterThanTheGuardAllows) {
  const std::vector<WorstRow> rows = FindWorst(kFew);
  for (const WorstRow& row : rows) {
    EXPECT_GT(row.tried, 10'000);
    EXPECT_LE(row.relative_lateness, row.max_relative_lateness * 1.001)
        << row.name << ", at " << row.duration << " s after "
        << row.observations;
  }
}

TEST(LearnedStudyTest, TwentyWaitsSaveAQuarterOfThePollsAtEqualLateness) {
  // By chance, the waits of two models may be easier than the optimum's waits.
  const std::vector<EqualLatenessRow> rows =
      CompareAtEqualLateness({.repetitions = 8});
  for (const EqualLatenessRow& row : rows) {
    EXPECT_LT(row.polls, 0.75 * row.default_polls) << row.name;
    EXPECT_LT(row.best_polls, row.polls) << row.name;
  }
}

}  // namespace
}  // namespace waiter::sim::learned_test
