// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/duration_distribution.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"

namespace waiter::sim::duration_distribution_test {
namespace {

using ::testing::HasSubstr;

// Quantiles of 10,001 draws.
class Draws {
 public:
  explicit Draws(const DurationDistribution& distribution) {
    SplitMix64 gen(1);
    for (int i = 0; i <= 10'000; ++i) {
      draws_.push_back(distribution.Draw(gen));
    }
    std::sort(draws_.begin(), draws_.end());
  }

  double Seconds(double quantile) const {
    return absl::ToDoubleSeconds(
        draws_[static_cast<size_t>(quantile * 10'000)]);
  }

 private:
  std::vector<absl::Duration> draws_;
};

TEST(DurationDistributionTest, DrawsHaveTheQuantilesOfTheKind) {
  const Draws constant(*DurationDistribution::Parse("45s"));
  EXPECT_EQ(constant.Seconds(0), 45);
  EXPECT_EQ(constant.Seconds(1), 45);

  const Draws uniform(*DurationDistribution::Parse("uniform:30s,90s"));
  EXPECT_GE(uniform.Seconds(0), 30);
  EXPECT_NEAR(uniform.Seconds(0.25), 45, 2);
  EXPECT_LE(uniform.Seconds(1), 90);

  const Draws exponential(*DurationDistribution::Parse("exponential:60s"));
  EXPECT_NEAR(exponential.Seconds(0.5), 41.6, 2);
  EXPECT_NEAR(exponential.Seconds(0.95), 179.7, 10);

  const Draws lognormal(*DurationDistribution::Parse("lognormal:60s,0.6"));
  EXPECT_NEAR(lognormal.Seconds(0.05), 22.4, 2);
  EXPECT_NEAR(lognormal.Seconds(0.5), 60, 2);
  EXPECT_NEAR(lognormal.Seconds(0.95), 161, 10);
}

TEST(DurationDistributionTest, MedianMatchesTheDraws) {
  for (const char* text :
       {"45s", "uniform:30s,90s", "exponential:60s", "lognormal:60s,0.6"}) {
    const DurationDistribution distribution =
        *DurationDistribution::Parse(text);
    EXPECT_NEAR(absl::ToDoubleSeconds(distribution.Median()),
                Draws(distribution).Seconds(0.5), 2)
        << text;
  }
}

TEST(DurationDistributionTest, TextIsWrittenAsItIsParsed) {
  for (const char* text :
       {"45s", "uniform:30s,1m30s", "exponential:1m", "lognormal:1m,0.6"}) {
    EXPECT_EQ(DurationDistribution::Parse(text)->ToString(), text);
  }
}

TEST(DurationDistributionTest, InvalidTextIsQuoted) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "'' is not a duration"},
      {"60", "'60' is not a duration; write it with a unit"},
      {"-5s", "'-5s' must be finite and above zero"},
      {"inf", "'inf' must be finite"},
      {"normal:60s,1s", "'normal:60s,1s' is not a distribution; write 45s"},
      {"uniform:60s", "'uniform:60s' is not a distribution"},
      {"1s,2s", "'1s,2s' is not a distribution"},
      {"uniform:90s,30s", "ends before it begins"},
      {"uniform:30s,x", "'x' is not a duration"},
      {"lognormal:60s,nan", "'nan' is not a sigma"},
      {"lognormal:60s,-1", "'-1' is not a sigma; write a number from 0 to 5"},
      {"exponential:1h,1", "'exponential:1h,1' is not a distribution"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = DurationDistribution::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace waiter::sim::duration_distribution_test
