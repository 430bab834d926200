// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Schedules of learned delays: their polls, costs and distributions.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/learned/learned_fixture.h"
#include "tests/support/first_seed.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"

namespace waiter::learned_schedule_test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class LearnedScheduleTest : public LearnedFixture {};

TEST_F(LearnedScheduleTest, FewDurationsDecideInPart) {
  Fill(*model_, "create", 60, 0.1, 4);
  EXPECT_THAT(Make()->Schedule("create").weight, AllOf(Ge(0.1), Le(0.6)));
  Fill(*model_, "create", 60, 0.1, 10);
  EXPECT_EQ(Make()->Schedule("create").weight, 1);
}

TEST_F(LearnedScheduleTest, WithTooFewDurationsOnlyTheDistributionIsThere) {
  for (int count = 0; count < 3; ++count) {
    const LearnedSchedule schedule = Make()->Schedule("create");
    EXPECT_EQ(schedule.weight, 0);
    EXPECT_THAT(schedule.polls, IsEmpty());
    EXPECT_EQ(schedule.expected_polls, 0);
    EXPECT_EQ(schedule.expected_lateness, absl::ZeroDuration());
    EXPECT_EQ(schedule.seconds_of_delay_worth_one_poll, 0);
    EXPECT_EQ(schedule.distribution.empty(), count == 0);
    model_->Record("create", Exactly(60));
  }
  EXPECT_GT(Make()->Schedule("create").weight, 0);
}

TEST_F(LearnedScheduleTest, WeightGrowsFromTwoUpToMinObservations) {
  for (const int64_t enough : {3, 8, 40}) {
    model_ = std::make_shared<DurationModel>();
    const auto learned = Make({.min_observations = enough});
    Fill(*model_, "create", 60, 0, 2);
    // Durations without an end do not count.
    for (int i = 0; i < 3; ++i) {
      model_->Record("create", {.after = absl::Seconds(9)});
    }
    double last = 0;
    for (int64_t count = 3; count < enough; ++count) {
      model_->Record("create", Exactly(60));
      const double weight = learned->Schedule("create").weight;
      EXPECT_GT(weight, last) << count << " of " << enough;
      EXPECT_LT(weight, 1) << count << " of " << enough;
      last = weight;
    }
    // Older durations count less, so a few more are needed.
    Fill(*model_, "create", 60, 0, static_cast<int>(2 + enough / 4));
    EXPECT_EQ(learned->Schedule("create").weight, 1) << enough;
  }
}

TEST_F(LearnedScheduleTest, DurationsCountAsAboutNinetyAtTheMost) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Fill(*model_, "create", 60, 0, 300);
  const auto weight = [&](int64_t enough) {
    return Make({.min_observations = enough})->Schedule("create").weight;
  };
  EXPECT_EQ(weight(90), 1);
  EXPECT_LT(weight(100), 1);
  EXPECT_THAT(weight(kMost), AllOf(Ge(0), Le(0.5)));
}

TEST_F(LearnedScheduleTest, SmallLimitOfLatenessTakesFiniteMemory) {
  Fill(*model_, "create", 60, 0, 20);
  for (const double limit : {1e-4, 1e-9, 1e-300}) {
    const auto learned = Make({.max_relative_lateness = limit});
    EXPECT_LE(learned->Schedule("create").polls.size(), 1'000'000) << limit;
  }
}

// The limit of the ratio alone would give one poll for each factor of two.
TEST_F(LearnedScheduleTest, ScheduleOfManyPollsHasLooksByTheRootOfTheTime) {
  Fill(*model_, "create", 3600, 0.5, 20);
  std::vector<double> roots;
  for (const absl::Duration poll : Make()->Schedule("create").polls) {
    if (poll >= absl::Seconds(100) && poll <= absl::Seconds(900)) {
      roots.push_back(std::sqrt(absl::ToDoubleSeconds(poll)));
    }
  }
  ASSERT_GE(roots.size(), 8);
  const double step =
      (roots.back() - roots.front()) / static_cast<double>(roots.size() - 1);
  for (size_t i = 1; i < roots.size(); ++i) {
    EXPECT_NEAR(roots[i] - roots[i - 1], step, 0.01 * step) << i;
  }
}

// Returns the probability of an end by `time`.
double ProbabilityBy(const LearnedSchedule& schedule, absl::Duration time) {
  double probability = 0;
  for (const auto& point : schedule.distribution) {
    if (point.time <= time) probability = point.probability;
  }
  return probability;
}

TEST_F(LearnedScheduleTest,
       HoweverManyNewDurationsThereAreNoOldOneCountsAsNew) {
  for (int newer = 8; newer <= 19; ++newer) {
    model_ = std::make_shared<DurationModel>();
    Fill(*model_, "create", 3600, 0.3, 20);
    Fill(*model_, "create", 60, 0.3, newer);
    EXPECT_GE(ProbabilityBy(Make()->Schedule("create"), absl::Minutes(10)),
              0.93)
        << newer << " new ones";
  }
}

// The last two old durations are the shortest and one of the longest.
TEST_F(LearnedScheduleTest, DurationAtTheEdgeOfTheOldOnesDoesNotKeepThemAlive) {
  for (const double seconds :
       {5120, 15160, 3195, 3660, 5940, 1660, 3280, 5840, 6650, 6655,
        2390, 9500,  6870, 3140, 5280, 4350, 4000, 3550, 1240, 10000,
        43,   42,    52,   37,   70,   34,   57,   40,   213,  210}) {
    Fill(*model_, "create", seconds, 0, 1);
  }
  EXPECT_GE(ProbabilityBy(Make()->Schedule("create"), absl::Minutes(5)), 0.9);
}

TEST_F(LearnedScheduleTest, DurationsAtTheEdgeOfAModeAreNoChange) {
  for (int i = 0; i < 20; ++i) {
    Fill(*model_, "create", 4 + 0.1 * i, 0, 1);
    Fill(*model_, "create", 260 + 5 * (i * 7 % 20), 0, 1);
  }
  for (const double seconds : {255, 5, 245, 240, 5, 235}) {
    Fill(*model_, "create", seconds, 0, 1);
  }
  const LearnedSchedule schedule = Make()->Schedule("create");
  EXPECT_EQ(schedule.weight, 1);
  // The default backoff makes 28 polls.
  EXPECT_LE(schedule.expected_polls, 12);
}

TEST_F(LearnedScheduleTest, WaitsThatRanSideBySideAreNoChange) {
  // They end in the order of their durations.
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) Fill(*model_, "create", 50 + i, 0, 1);
  }
  EXPECT_EQ(Make()->Schedule("create").weight, 1);
  EXPECT_NEAR(ProbabilityBy(Make()->Schedule("create"), absl::Minutes(1)), 0.5,
              0.1);
}

TEST_F(LearnedScheduleTest, TargetOfPollsIsKept) {
  Fill(*model_, "create", 60, 0.5, 60);
  for (const double polls : {4.0, 6.0, 9.0}) {
    const LearnedSchedule schedule =
        Make({.expected_polls = polls})->Schedule("create");
    EXPECT_LE(schedule.expected_polls, polls + 0.01);
    EXPECT_GE(schedule.expected_polls, polls - 0.7);
  }
}

TEST_F(LearnedScheduleTest, WorthOfAPollTradesPollsForLateness) {
  Fill(*model_, "create", 60, 0.5, 60);
  double polls = kNoLimit;
  absl::Duration lateness = absl::ZeroDuration();
  for (const double worth : {0.1, 1.0, 10.0}) {
    const LearnedSchedule schedule =
        Make({.seconds_of_delay_worth_one_poll = worth})->Schedule("create");
    EXPECT_LT(schedule.expected_polls, polls);
    EXPECT_GT(schedule.expected_lateness, lateness);
    EXPECT_DOUBLE_EQ(schedule.seconds_of_delay_worth_one_poll, worth);
    polls = schedule.expected_polls;
    lateness = schedule.expected_lateness;
  }
}

TEST_F(LearnedScheduleTest, WithoutATargetItIsAsLateAsTheDefaultCurve) {
  Fill(*model_, "create", 60, 0.5, 60);
  const LearnedSchedule schedule = Make()->Schedule("create");
  // Delays of 4 to 8 s notice an end after 3.11 s on average.
  EXPECT_THAT(absl::ToDoubleSeconds(schedule.expected_lateness),
              AllOf(Ge(2.5), Le(3.12)));
  EXPECT_LT(schedule.expected_polls, 12);
}

TEST_F(LearnedScheduleTest, LatenessThatSavesNoPollIsNotSpent) {
  // Any of these operations may have taken exactly a minute.
  for (int i = 0; i < 24; ++i) {
    const int place = i * 7 % 24 + 1;
    model_->Record("create", {.after = absl::Seconds(60 - 0.1 * place),
                              .by = absl::Seconds(60 + 0.1 * (25 - place))});
  }
  const LearnedSchedule schedule =
      Make({.max_relative_lateness = kNoLimit})->Schedule("create");
  EXPECT_LE(schedule.expected_polls, 2.05);
  // The default backoff would be 3.1 s late.
  EXPECT_LE(schedule.expected_lateness, absl::Seconds(1.6));
}

TEST_F(LearnedScheduleTest, TenDurationsOfEachOfTwoWavesTellHowWideTheyAre) {
  for (int i = 0; i < 10; ++i) {
    // From 0.8 to 1.2, in an order without a trend.
    const double part = 0.8 + 0.4 * (i * 7 % 10) / 9;
    for (const double usual : {5.0, 300.0}) {
      model_->Record("create", Exactly(usual * part));
    }
  }
  const LearnedSchedule schedule = Make({.seconds_of_delay_worth_one_poll = 1,
                                         .max_relative_lateness = kNoLimit})
                                       ->Schedule("create");
  const auto between = std::count_if(
      schedule.polls.begin(), schedule.polls.end(), [](absl::Duration time) {
        return time > absl::Seconds(8) && time < absl::Seconds(220);
      });
  EXPECT_LE(between, 1);
  EXPECT_LE(schedule.expected_polls, 6.2);
}

TEST_F(LearnedScheduleTest, DistributionIsThatOfTheDurations) {
  Fill(*model_, "create", 60, 0.5, 60);
  const LearnedSchedule schedule = Make()->Schedule("create");
  double before = 0;
  for (const auto& point : schedule.distribution) {
    EXPECT_GE(point.probability, before);
    before = point.probability;
  }
  EXPECT_NEAR(ProbabilityBy(schedule, absl::Minutes(1)), 0.5, 0.06);
  EXPECT_GT(before, 0.9);
}

// Expects what holds for every model and every target.
void ExpectSound(const LearnedSchedule& schedule,
                 const LearnedDelaysOptions& options) {
  EXPECT_THAT(schedule.weight, AllOf(Ge(0), Le(1)));
  LearnedSchedule::Point before{absl::ZeroDuration(), 0};
  for (const LearnedSchedule::Point& point : schedule.distribution) {
    ASSERT_GE(point.time, before.time);
    ASSERT_GE(point.probability, before.probability);
    before = point;
  }
  EXPECT_LE(before.probability, 1 + 1e-9);
  absl::Duration last = absl::ZeroDuration();
  for (const absl::Duration poll : schedule.polls) {
    ASSERT_GE(poll, last);
    last = poll;
  }
  EXPECT_LT(last, absl::InfiniteDuration());
  EXPECT_TRUE(std::isfinite(schedule.expected_polls));
  EXPECT_TRUE(std::isfinite(schedule.seconds_of_delay_worth_one_poll));
  EXPECT_GE(schedule.expected_lateness, absl::ZeroDuration());
  EXPECT_LT(schedule.expected_lateness, absl::InfiniteDuration());
  if (schedule.weight == 0) return;
  EXPECT_THAT(schedule.polls, Not(IsEmpty()));
  EXPECT_THAT(schedule.distribution, Not(IsEmpty()));
  EXPECT_GE(schedule.expected_polls, 1);
  EXPECT_GT(schedule.seconds_of_delay_worth_one_poll, 0);
  if (options.seconds_of_delay_worth_one_poll.has_value()) {
    EXPECT_DOUBLE_EQ(schedule.seconds_of_delay_worth_one_poll,
                     *options.seconds_of_delay_worth_one_poll);
  }
}

std::vector<LearnedDelaysOptions> Targets() {
  return {
      {},
      {.seconds_of_delay_worth_one_poll = 1e-300},
      {.seconds_of_delay_worth_one_poll = 1e300},
      {.expected_polls = std::nextafter(1, 2)},
      {.expected_polls = 4},
      {.expected_polls = 1e300},
      {.max_lateness = absl::Nanoseconds(1)},
      {.max_lateness = absl::Seconds(5), .percentile = 1e-9},
      {.max_lateness = absl::Seconds(5), .percentile = std::nextafter(1, 0)},
      {.max_lateness = absl::Hours(24 * 365'000)},
      {.max_relative_lateness = kNoLimit},
      {.max_relative_lateness = 1e300},
      {.max_relative_lateness = 0.01},
      {.min_observations = 3, .exploration = 0},
      {.exploration = 0.5}};
}

TEST_F(LearnedScheduleTest, IsSoundForEveryTargetAndEveryExtremeModel) {
  const auto many = [](int count, const ObservedDuration& duration) {
    return std::vector<ObservedDuration>(static_cast<size_t>(count), duration);
  };
  std::vector<std::vector<ObservedDuration>> models = {
      many(2, Exactly(60)), many(128, Exactly(1e-9)),
      many(128, Exactly(86400.0 * 365'000)),
      // The operation ended somewhere before the only poll.
      many(20, {.by = absl::Hours(1)}),
      // One with an end among many without.
      many(100, {.after = absl::Minutes(1)})};
  models.back().push_back(Exactly(5));
  // Durations from a nanosecond to 1000 years, exact and between polls.
  for (const double width : {1.0, 3.0}) {
    models.emplace_back();
    for (int i = 0; i < 60; ++i) {
      const double after = 1e-9 * std::pow(10, i * 19 % 60 / 3.2);
      models.back().push_back(
          {.after = absl::Seconds(after), .by = absl::Seconds(after * width)});
    }
  }
  for (size_t model = 0; model < models.size(); ++model) {
    model_ = std::make_shared<DurationModel>();
    for (const ObservedDuration& duration : models[model]) {
      model_->Record("create", duration);
    }
    int target = 0;
    for (const LearnedDelaysOptions& options : Targets()) {
      SCOPED_TRACE(absl::StrCat("model ", model, ", target ", target++));
      ExpectSound(Make(options)->Schedule("create"), options);
    }
  }
}

// Fills a model with up to 128 durations in up to five modes, from nanoseconds
// to centuries. Some are exact, some very vague, some without an end.
void FillAtRandom(DurationModel& model, std::mt19937_64& gen) {
  const auto uniform = [&gen](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(gen);
  };
  std::vector<double> modes(1 + gen() % 5);
  const double usual = std::exp(uniform(std::log(1e-8), std::log(1e9)));
  for (double& mode : modes) mode = usual * std::exp(uniform(-4, 4));
  const double width = std::exp(uniform(-18, 0));
  const uint64_t endless = 2 + gen() % 20;
  for (uint64_t left = 1 + gen() % 128; left > 0; --left) {
    const double seconds = modes[gen() % modes.size()];
    const bool ends = gen() % endless != 0;
    model.Record(
        "create",
        {.after = absl::Seconds(seconds * (1 - width * uniform(0, 1))),
         .by = ends ? absl::Seconds(seconds * (1 + width * uniform(0, 1)))
                    : absl::InfiniteDuration()});
  }
}

TEST_F(LearnedScheduleTest, IsSoundWhateverTheDurationsAre) {
  const std::vector<LearnedDelaysOptions> targets = Targets();
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    std::mt19937_64 gen(seed);
    FillAtRandom(*model_, gen);
    LearnedDelaysOptions options = targets[gen() % targets.size()];
    if (gen() % 2 == 0) options.max_relative_lateness = kNoLimit;
    ExpectSound(Make(options)->Schedule("create"), options);
    model_ = std::make_shared<DurationModel>();
  }
}

TEST_F(LearnedScheduleTest, WaitsWithoutAnEndMoveTheDistributionUp) {
  Fill(*model_, "create", 60, 0.5, 20);
  const auto probability_at_70s = [this] {
    return ProbabilityBy(Make()->Schedule("create"), absl::Seconds(70));
  };
  const double before = probability_at_70s();
  for (int i = 0; i < 10; ++i) {
    model_->Record("create", {.after = absl::Seconds(70)});
  }
  EXPECT_LT(probability_at_70s(), before - 0.1);
  EXPECT_GT(probability_at_70s(), before / 2);
}

TEST_F(LearnedScheduleTest, OnlyDurationsWithoutAnEndTeachNothing) {
  for (int i = 0; i < 50; ++i) {
    model_->Record("create", {.after = absl::Seconds(70)});
  }
  EXPECT_EQ(Make()->Schedule("create").weight, 0);
}

}  // namespace
}  // namespace waiter::learned_schedule_test
