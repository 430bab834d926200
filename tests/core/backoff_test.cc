// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/backoff.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/vectors.h"

namespace waiter::backoff_test {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;

// Fails the test if anything draws from it.
struct NoBits {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return PlayedDraws::max(); }
  uint64_t operator()() const {
    ADD_FAILURE() << "the generator was drawn from";
    return 0;
  }
};

template <typename Gen>
std::vector<nanoseconds> Delays(const BackoffOptions& options, int count,
                                Gen gen) {
  const Backoff backoff(options);
  BackoffProgress progress;
  std::vector<nanoseconds> delays;
  delays.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    delays.push_back(backoff.NextDelay(progress, gen));
  }
  return delays;
}

// The options of the worked table in docs/design.md.
constexpr BackoffOptions kWorkedTable = {.initial_delay = absl::Seconds(1),
                                         .max_delay = absl::Seconds(10),
                                         .min_delay = absl::ZeroDuration()};

TEST(BackoffTest, CeilingsDoubleUpToTheCap) {
  const Backoff backoff(kWorkedTable);

  std::vector<nanoseconds> ceilings;
  for (int n = 1; n <= 6; ++n) ceilings.push_back(backoff.Ceiling(n));

  EXPECT_THAT(ceilings, ElementsAre(seconds(1), seconds(2), seconds(4),
                                    seconds(8), seconds(10), seconds(10)));
}

TEST(BackoffTest, DelaysWithoutJitterAreTheCeilingsAndDrawNothing) {
  BackoffOptions options = kWorkedTable;
  options.jitter = Jitter::None();

  EXPECT_THAT(Delays(options, 6, NoBits()),
              ElementsAre(seconds(1), seconds(2), seconds(4), seconds(8),
                          seconds(10), seconds(10)));
}

struct WindowCase {
  const char* name;
  Jitter jitter;
  std::vector<nanoseconds> lowest;
  std::vector<nanoseconds> highest;
};

class BackoffWindowTest : public testing::TestWithParam<WindowCase> {};

TEST_P(BackoffWindowTest, EndsOfTheGeneratorGiveTheEndsOfTheWindow) {
  BackoffOptions options = kWorkedTable;
  options.jitter = GetParam().jitter;

  EXPECT_EQ(Delays(options, 5, PlayedDraws(kLowestDraws)), GetParam().lowest);
  EXPECT_EQ(Delays(options, 5, PlayedDraws(kHighestDraws)), GetParam().highest);
}

INSTANTIATE_TEST_SUITE_P(
    EveryJitter, BackoffWindowTest,
    testing::Values(
        WindowCase{
            "Full",
            Jitter::Full(),
            {seconds(0), seconds(0), seconds(0), seconds(0), seconds(0)},
            {seconds(1), seconds(2), seconds(4), seconds(8), seconds(10)}},
        WindowCase{
            "FullOfAQuarter",
            Jitter::Full(0.25),
            {milliseconds(750), milliseconds(1500), seconds(3), seconds(6),
             milliseconds(7500)},
            {seconds(1), seconds(2), seconds(4), seconds(8), seconds(10)}},
        WindowCase{
            "Equal",
            Jitter::Equal(),
            {milliseconds(500), seconds(1), seconds(2), seconds(4), seconds(5)},
            {seconds(1), seconds(2), seconds(4), seconds(8), seconds(10)}},
        WindowCase{
            "Proportional",
            Jitter::Proportional(0.5),
            {milliseconds(500), seconds(1), seconds(2), seconds(4), seconds(5)},
            {milliseconds(1500), seconds(3), seconds(6), seconds(10),
             seconds(10)}},
        WindowCase{
            "Decorrelated",
            Jitter::Decorrelated(),
            {seconds(1), seconds(1), seconds(1), seconds(1), seconds(1)},
            {seconds(3), seconds(9), seconds(10), seconds(10), seconds(10)}}),
    [](const auto& test) { return test.param.name; });

class BackoffEveryJitterTest : public testing::TestWithParam<Jitter> {};

TEST_P(BackoffEveryJitterTest, EveryDrawIsWithinFloorAndCap) {
  BackoffOptions options = kWorkedTable;
  options.jitter = GetParam();
  options.min_delay = absl::Milliseconds(300);

  const std::vector<nanoseconds> delays =
      Delays(options, 100'000, SplitMix64(7));

  EXPECT_GE(*std::ranges::min_element(delays), milliseconds(300));
  EXPECT_LE(*std::ranges::max_element(delays), seconds(10));
}

TEST_P(BackoffEveryJitterTest, FirstAndCappedDelaysAreJittered) {
  BackoffOptions options = kWorkedTable;
  options.jitter = GetParam();
  const Backoff backoff(options);
  SplitMix64 gen(7);

  for (int n : {1, 50}) {
    std::vector<nanoseconds> delays;
    for (int i = 0; i < 1000; ++i) {
      BackoffProgress progress;
      for (int k = 1; k < n; ++k) backoff.NextDelay(progress, gen);
      delays.push_back(backoff.NextDelay(progress, gen));
    }
    std::ranges::sort(delays);
    // They lie a quarter of the ceiling apart: no clamp or constant has
    // swallowed the jitter.
    EXPECT_GT(delays[950] - delays[50], backoff.Ceiling(n) / 4) << "n=" << n;
  }
}

TEST_P(BackoffEveryJitterTest, SameSeedGivesSameDelays) {
  BackoffOptions options = kWorkedTable;
  options.jitter = GetParam();

  EXPECT_EQ(Delays(options, 20, SplitMix64(1)),
            Delays(options, 20, SplitMix64(1)));
  EXPECT_NE(Delays(options, 20, SplitMix64(1)),
            Delays(options, 20, SplitMix64(2)));
}

INSTANTIATE_TEST_SUITE_P(AllKinds, BackoffEveryJitterTest,
                         testing::Values(Jitter::Full(), Jitter::Equal(),
                                         Jitter::Proportional(0.5),
                                         Jitter::Decorrelated()));

TEST(BackoffTest, DelayStaysAtTheCapForHugeAttempts) {
  const Backoff backoff(kWorkedTable);

  for (int64_t n : {int64_t{64}, int64_t{1024}, int64_t{1025}, int64_t{1000000},
                    int64_t{1} << 31, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(backoff.Ceiling(n), seconds(10)) << "n=" << n;
  }
}

TEST(BackoffTest, CeilingsGrowByAnyMultiplier) {
  const Backoff backoff({.initial_delay = absl::Seconds(1),
                         .max_delay = absl::Minutes(1),
                         .multiplier = 3});

  EXPECT_EQ(backoff.Ceiling(2), seconds(3));
  EXPECT_EQ(backoff.Ceiling(3), seconds(9));
  EXPECT_EQ(backoff.Ceiling(5), seconds(60));
}

TEST(BackoffTest, GrowthBeyondTheTableFollowsTheFormula) {
  const Backoff backoff({.initial_delay = absl::Nanoseconds(1'000'000),
                         .max_delay = absl::Hours(1),
                         .multiplier = 1.01});

  // 1 ms * 1.01^99 and 1 ms * 1.01^999, rounded.
  EXPECT_EQ(backoff.Ceiling(100), nanoseconds(2'678'033));
  EXPECT_EQ(backoff.Ceiling(1000), nanoseconds(20'751'639'245));
  EXPECT_EQ(backoff.Ceiling(100'000), hours(1));
}

TEST(BackoffTest, DelaysWithoutJitterAreTheCeilingsAtTheEndOfTheTableToo) {
  constexpr BackoffOptions kSlowGrowth = {
      .initial_delay = absl::Milliseconds(1),
      .max_delay = absl::Hours(1),
      .multiplier = 1.1,
      .jitter = Jitter::None()};
  // A window missing from the table would keep these bytes.
  alignas(Backoff) std::array<std::byte, sizeof(Backoff)> memory;
  memory.fill(std::byte{1});
  const Backoff& backoff = *new (memory.data()) Backoff(kSlowGrowth);
  BackoffProgress progress;
  NoBits gen;

  for (int64_t n = 1; n <= 45; ++n) {
    EXPECT_EQ(backoff.NextDelay(progress, gen), backoff.Ceiling(n))
        << "n=" << n;
  }
}

TEST(BackoffTest, CeilingsGrowFromOneNanosecond) {
  const Backoff backoff(
      {.initial_delay = absl::Nanoseconds(1), .max_delay = absl::Seconds(1)});

  EXPECT_EQ(backoff.Ceiling(1), nanoseconds(1));
  EXPECT_EQ(backoff.Ceiling(4), nanoseconds(8));
}

TEST(BackoffTest, DelaysGrowFromOneNanosecond) {
  EXPECT_THAT(Delays({.initial_delay = absl::Nanoseconds(1),
                      .jitter = Jitter::None(),
                      .min_delay = absl::ZeroDuration()},
                     3, NoBits()),
              ElementsAre(nanoseconds(1), nanoseconds(2), nanoseconds(4)));
}

TEST(BackoffTest, CeilingOfAnInitialDelayOfZeroIsZeroForHugeAttempts) {
  const Backoff backoff({.initial_delay = absl::ZeroDuration()});

  EXPECT_EQ(backoff.Ceiling(std::numeric_limits<int64_t>::max()), seconds(0));
}

TEST(BackoffTest, MultiplierOfOneIsConstant) {
  EXPECT_THAT(Delays({.initial_delay = absl::Seconds(3),
                      .max_delay = absl::Seconds(3),
                      .multiplier = 1.0,
                      .jitter = Jitter::None()},
                     3, NoBits()),
              ElementsAre(seconds(3), seconds(3), seconds(3)));
  EXPECT_EQ(Backoff({.initial_delay = absl::Seconds(3), .multiplier = 1.0})
                .Ceiling(2),
            seconds(3));
}

TEST(BackoffTest, InitialDelayOfZeroStaysAtTheFloor) {
  EXPECT_THAT(
      Delays({.initial_delay = absl::ZeroDuration()}, 2000, NoBits()).back(),
      seconds(0));
  EXPECT_THAT(Delays({.initial_delay = absl::ZeroDuration(),
                      .min_delay = absl::Seconds(1)},
                     2000, NoBits())
                  .back(),
              seconds(1));
}

TEST(BackoffTest, InfiniteCapSaturatesAndStaysFinite) {
  const Backoff backoff({.initial_delay = absl::Seconds(1),
                         .max_delay = absl::InfiniteDuration()});
  BackoffProgress progress;
  SplitMix64 gen(3);

  for (int i = 0; i < 3000; ++i) {
    const nanoseconds delay = backoff.NextDelay(progress, gen);
    ASSERT_GE(delay, seconds(0));
    ASSERT_LE(delay, nanoseconds(int64_t{1} << 62));
  }
  EXPECT_GT(backoff.Ceiling(1'000'000), hours(24 * 365 * 100));
}

TEST(BackoffTest, AdvancesToWhereDelaysWithoutJitterHaveTakenAsLong) {
  NoBits gen;
  for (const double multiplier : {1.5, 2.0, 3.0}) {
    const Backoff backoff({.initial_delay = absl::Seconds(1),
                           .max_delay = absl::Minutes(1),
                           .multiplier = multiplier,
                           .jitter = Jitter::None()});
    nanoseconds elapsed(0);
    for (int64_t n = 1; backoff.Ceiling(n) < seconds(60); ++n) {
      BackoffProgress before;
      backoff.AdvanceTo(elapsed + backoff.Ceiling(n) - microseconds(1), before);
      EXPECT_EQ(backoff.NextDelay(before, gen), backoff.Ceiling(n)) << n;
      elapsed += backoff.Ceiling(n);
      BackoffProgress after;
      backoff.AdvanceTo(elapsed + microseconds(1), after);
      EXPECT_EQ(backoff.NextDelay(after, gen), backoff.Ceiling(n + 1)) << n;
    }
  }
}

TEST(BackoffTest, AdvancesNeverBack) {
  for (const Jitter jitter : {Jitter::None(), Jitter::Decorrelated()}) {
    const Backoff backoff({.initial_delay = absl::Seconds(1),
                           .max_delay = absl::Minutes(1),
                           .jitter = jitter});
    BackoffProgress progress;
    backoff.AdvanceTo(seconds(40), progress);
    const int64_t there = progress.ToInt64();
    EXPECT_GT(there, 0);
    backoff.AdvanceTo(seconds(3), progress);
    EXPECT_EQ(progress.ToInt64(), there);
  }
}

TEST(BackoffTest, ProgressIsFiniteOnTheSteepestAndTheFlattestCurve) {
  BackoffOptions options = {.initial_delay = absl::Seconds(1),
                            .max_delay = absl::InfiniteDuration(),
                            .multiplier = 1e300,
                            .jitter = Jitter::None()};
  NoBits gen;
  const Backoff steep(options);
  BackoffProgress progress;
  steep.AdvanceTo(std::chrono::hours(1), progress);
  EXPECT_EQ(steep.NextDelay(progress, gen), nanoseconds(int64_t{1} << 62));

  options.initial_delay = absl::Nanoseconds(1);
  options.min_delay = absl::ZeroDuration();
  options.multiplier = std::nextafter(1.0, 2.0);
  const Backoff flat(options);
  progress = {};
  flat.AdvanceTo(nanoseconds::max(), progress);
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(flat.NextDelay(progress, gen), nanoseconds(1));
  }
}

TEST(BackoffTest, NanosecondDelaysAreNotTruncated) {
  EXPECT_THAT(Delays({.initial_delay = absl::Nanoseconds(3),
                      .max_delay = absl::Nanoseconds(40),
                      .jitter = Jitter::None()},
                     5, NoBits()),
              ElementsAre(nanoseconds(3), nanoseconds(6), nanoseconds(12),
                          nanoseconds(24), nanoseconds(40)));
}

TEST(BackoffTest, GeneratorThroughBitGenRefGivesTheSameDelays) {
  SplitMix64 gen(11);

  EXPECT_EQ(Delays(kWorkedTable, 10, absl::BitGenRef(gen)),
            Delays(kWorkedTable, 10, SplitMix64(11)));
}

TEST(BackoffTest, FullJitterIsUniform) {
  constexpr int kDraws = 100'000;
  constexpr int kBins = 10;
  const Backoff backoff({.initial_delay = absl::Seconds(1),
                         .max_delay = absl::Seconds(1),
                         .jitter = Jitter::Full(),
                         .min_delay = absl::ZeroDuration()});
  BackoffProgress progress;
  SplitMix64 gen(5);

  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const nanoseconds delay = backoff.NextDelay(progress, gen);
    ++bins[static_cast<size_t>(
        std::min<int64_t>(delay / milliseconds(100), 9))];
  }

  // Each bin is within five standard deviations of its expected share.
  for (int count : bins) EXPECT_NEAR(count, 10'000, 5 * 95);
}

TEST(SeededSplitMix64Test, TwoSeededGeneratorsDiffer) {
  SplitMix64 first = MakeSeededSplitMix64();
  SplitMix64 second = MakeSeededSplitMix64();

  EXPECT_NE(first(), second());
}

TEST(SplitMix64Test, SequenceMatchesThePublishedOne) {
  // The reference implementation draws these first for seed 1234567.
  SplitMix64 gen(1234567);

  EXPECT_EQ(gen(), 6457827717110365317U);
  EXPECT_EQ(gen(), 3203168211198807973U);
  EXPECT_EQ(gen(), 9817491932198370423U);
}

TEST(BackoffTest, CurveWithoutAMinDelayHasAFloorOf10Milliseconds) {
  BackoffOptions options = {.initial_delay = absl::Seconds(1),
                            .max_delay = absl::Seconds(10),
                            .jitter = Jitter::Full()};
  EXPECT_THAT(Delays(options, 3, PlayedDraws(kLowestDraws)),
              Each(milliseconds(10)));

  options.initial_delay = absl::Milliseconds(2);
  EXPECT_THAT(Delays(options, 3, PlayedDraws(kLowestDraws)),
              Each(milliseconds(2)));

  options.min_delay = absl::ZeroDuration();
  EXPECT_THAT(Delays(options, 3, PlayedDraws(kLowestDraws)),
              Each(milliseconds(0)));
}

TEST(BackoffTest, JitterBetweenTwoSharesIsCutAtTheCap) {
  const BackoffOptions azure = {.initial_delay = absl::Seconds(1),
                                .max_delay = absl::Seconds(2),
                                .jitter = Jitter::Between(0.8, 1.3)};

  EXPECT_THAT(Delays(azure, 2, PlayedDraws(kLowestDraws)),
              ElementsAre(milliseconds(800), milliseconds(1600)));
  EXPECT_THAT(Delays(azure, 2, PlayedDraws(kHighestDraws)),
              ElementsAre(milliseconds(1300), seconds(2)));
  EXPECT_TRUE(Validate(azure, "backoff").ok());
  for (const Jitter jitter :
       {Jitter::Between(0.8, 0.7), Jitter::Between(-0.1, 1),
        Jitter::Between(0.8, std::numeric_limits<double>::infinity())}) {
    EXPECT_FALSE(Validate({.jitter = jitter}, "backoff").ok());
  }
}

}  // namespace
}  // namespace waiter::backoff_test
