// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose delays are learned, on simulated time.

#include "waiter/learned/learned_delays.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "waiter/learned/durations.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::learned_delays_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Fills a model with `count` durations of about `seconds`, spread evenly by
// `spread` to both sides, in an order without a trend.
void Fill(DurationModel& model, const std::string& operation, double seconds,
          double spread, int count) {
  for (int i = 0; i < count; ++i) {
    // 37 has no divisor in common with the counts of these tests.
    const int place = i * 37 % count;
    const double part = count > 1 ? 2.0 * place / (count - 1) - 1 : 0;
    const absl::Duration exact = absl::Seconds(seconds * (1 + spread * part));
    model.Record(operation, {.after = exact, .by = exact});
  }
}

class LearnedDelaysTest : public testing::Test {
 protected:
  std::shared_ptr<LearnedDelays> Make(
      const LearnedDelaysOptions& options = {}) {
    auto made = LearnedDelays::Make(model_, options);
    EXPECT_EQ(made.status(), absl::OkStatus());
    return *made;
  }

  // Returns the poll times of a wait for an operation that ends at `end`.
  std::vector<double> PollTimes(const WaitOptions& options,
                                absl::Duration end) {
    SimulatedClock clock;
    std::vector<double> times;
    WaitOptions used = options;
    used.clock = &clock;
    Waiter wait(
        [&] {
          times.push_back(absl::ToDoubleSeconds(clock.Elapsed()));
          return clock.Elapsed() >= end;
        },
        used);
    last_ = wait.Wait().status();
    return times;
  }

  static WaitOptions Options(std::shared_ptr<LearnedDelays> learned,
                             uint64_t seed = 1) {
    return {.operation = "create",
            .timeout = absl::Hours(10),
            .delay_source = std::move(learned),
            .hooks = {.seed = seed}};
  }

  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
  absl::Status last_;
};

TEST_F(LearnedDelaysTest, WithoutDurationsTheDelaysAreThoseOfTheCurve) {
  WaitOptions plain = Options(nullptr);
  WaitOptions learned = Options(Make());
  // The table draws first, so jitter differs.
  plain.backoff.jitter = learned.backoff.jitter = Jitter::None();
  EXPECT_EQ(PollTimes(learned, absl::Minutes(1)),
            PollTimes(plain, absl::Minutes(1)));
}

TEST_F(LearnedDelaysTest, OperationThatAlwaysTakesAMinuteNeedsThreePolls) {
  Fill(*model_, "create", 60, 0, 20);
  const std::vector<double> times = PollTimes(
      Options(Make({.seconds_of_delay_worth_one_poll = 5, .exploration = 0})),
      absl::Seconds(60));
  ASSERT_THAT(times, SizeIs(3));
  EXPECT_EQ(times[0], 0);
  EXPECT_NEAR(times[1], 30, 1);
  EXPECT_THAT(times[2], AllOf(Ge(60), Le(61)));
}

TEST_F(LearnedDelaysTest, WithoutALimitOfLatenessItNeedsTwo) {
  Fill(*model_, "create", 60, 0, 20);
  const std::vector<double> times =
      PollTimes(Options(Make({.seconds_of_delay_worth_one_poll = 5,
                              .max_relative_lateness = kNoLimit,
                              .exploration = 0})),
                absl::Seconds(60));
  ASSERT_THAT(times, SizeIs(2));
  EXPECT_THAT(times[1], AllOf(Ge(60), Le(61)));
}

TEST_F(LearnedDelaysTest, WaitsTeachEachOther) {
  const auto learned = Make();
  const size_t first = PollTimes(Options(learned, 1), absl::Seconds(60)).size();
  for (uint64_t i = 2; i <= 20; ++i) {
    PollTimes(Options(learned, i), absl::Seconds(60));
  }
  const size_t last = PollTimes(Options(learned, 21), absl::Seconds(60)).size();
  EXPECT_GE(first, 14);
  EXPECT_LE(last, 5);
  EXPECT_THAT(model_->Durations("create"), SizeIs(21));
}

TEST_F(LearnedDelaysTest, DurationLiesBetweenTheLastTwoPolls) {
  WaitOptions options = Options(Make());
  options.backoff = {.initial_delay = absl::Seconds(10),
                     .max_delay = absl::Seconds(10),
                     .jitter = Jitter::None()};
  PollTimes(options, absl::Seconds(25));
  ASSERT_THAT(model_->Durations("create"), SizeIs(1));
  EXPECT_EQ(model_->Durations("create")[0].after, absl::Seconds(20));
  EXPECT_EQ(model_->Durations("create")[0].by, absl::Seconds(30));
}

TEST_F(LearnedDelaysTest, ErrorsSayNothingOfTheEndAndLeaveTheLowerBound) {
  SimulatedClock clock;
  WaitOptions options = Options(Make());
  options.clock = &clock;
  options.backoff =
      options.errors.server_error_backoff = {.initial_delay = absl::Seconds(10),
                                             .max_delay = absl::Seconds(10),
                                             .jitter = Jitter::None()};
  int polls = 0;
  Waiter wait(
      [&]() -> Poll<> {
        ++polls;
        if (polls == 1) return NotReady();
        if (polls < 4) return ServerError(absl::UnavailableError("down"));
        return Success();
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  ASSERT_THAT(model_->Durations("create"), SizeIs(1));
  EXPECT_LT(model_->Durations("create")[0].after, absl::Microseconds(1));
  EXPECT_EQ(model_->Durations("create")[0].by, absl::Seconds(30));
}

TEST_F(LearnedDelaysTest, WaitsThatDoNotSucceedCountAsAtLeastThatLong) {
  WaitOptions options = Options(Make());
  options.timeout = absl::Seconds(100);
  options.backoff = {.initial_delay = absl::Seconds(10),
                     .max_delay = absl::Seconds(10),
                     .jitter = Jitter::None()};
  PollTimes(options, absl::Hours(1));
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_THAT(model_->Durations("create"), SizeIs(1));
  EXPECT_EQ(model_->Durations("create")[0].after, absl::Seconds(100));
  EXPECT_EQ(model_->Durations("create")[0].by, absl::InfiniteDuration());
}

TEST_F(LearnedDelaysTest, WaitWhoseFirstPollSucceedsIsNotRecorded) {
  PollTimes(Options(Make()), absl::ZeroDuration());
  EXPECT_THAT(model_->Operations(), IsEmpty());
}

TEST_F(LearnedDelaysTest, ConfirmedSuccessEndedAtItsFirstPoll) {
  WaitOptions options = Options(Make());
  options.backoff = {.initial_delay = absl::Seconds(10),
                     .max_delay = absl::Seconds(10),
                     .jitter = Jitter::None()};
  options.confirm.successes = 3;
  PollTimes(options, absl::Seconds(25));
  ASSERT_THAT(model_->Durations("create"), SizeIs(1));
  EXPECT_EQ(model_->Durations("create")[0].after, absl::Seconds(20));
  EXPECT_EQ(model_->Durations("create")[0].by, absl::Seconds(30));
}

TEST_F(LearnedDelaysTest, PollsKeepTheLimitOfTheirRatio) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    model_ = std::make_shared<DurationModel>();
    Fill(*model_, "create", 600, 0.05, 30);
    const std::vector<double> times = PollTimes(
        Options(Make({.max_relative_lateness = 0.5, .exploration = 0}), seed),
        absl::Hours(1));
    // The model wants its first poll near 600 s.
    EXPECT_LE(times[1], 700 / 1.5) << seed;
    for (size_t i = 2; i < times.size(); ++i) {
      EXPECT_LE(times[i], times[i - 1] * 1.5 * 1.011) << seed;
    }
  }
}

TEST_F(LearnedDelaysTest, EndIsNoticedWithinTwiceItsTimeOrTheFirstPoll) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    model_ = std::make_shared<DurationModel>();
    Fill(*model_, "create", 100, 0.3, 40);
    const double end = 3 * static_cast<double>(seed);
    const std::vector<double> times =
        PollTimes(Options(Make(), seed), absl::Seconds(end));
    EXPECT_LE(times.back(), std::max(2 * end * 1.011, 70.0)) << end;
  }
}

TEST_F(LearnedDelaysTest, BeyondAllThatIsKnownTheCurveTakesOver) {
  Fill(*model_, "create", 60, 0.1, 40);
  const std::vector<double> times =
      PollTimes(Options(Make()), absl::Minutes(20));
  // After twice the longest duration, no delay exceeds the backoff's maximum.
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i - 1] > 200) {
      EXPECT_LE(times[i] - times[i - 1], 8);
    }
  }
  EXPECT_LT(times.back() - 1200, 8);
}

TEST_F(LearnedDelaysTest, LongScheduleAlsoLooksBeforeAllThatIsKnown) {
  Fill(*model_, "create", 3600, 0.5, 20);
  const auto first_poll = [&](const LearnedDelaysOptions& options) {
    const LearnedSchedule schedule = Make(options)->Schedule("create");
    return absl::ToDoubleSeconds(schedule.polls.front());
  };
  EXPECT_LE(first_poll({.seconds_of_delay_worth_one_poll = 1}), 300);
  EXPECT_GE(first_poll({.expected_polls = 20}), 900);
  EXPECT_GE(first_poll({.seconds_of_delay_worth_one_poll = 1,
                        .max_relative_lateness = kNoLimit}),
            900);
  const std::vector<double> times =
      PollTimes(Options(Make()), absl::Minutes(1));
  // The limit is twice its time, plus jitter.
  EXPECT_LE(times.back(), 130);
}

// The limit of the ratio alone would give one poll for each factor of two.
TEST_F(LearnedDelaysTest, ScheduleOfManyPollsHasLooksByTheRootOfTheTime) {
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

TEST_F(LearnedDelaysTest, FewDurationsDecideInPart) {
  Fill(*model_, "create", 60, 0.1, 4);
  const LearnedSchedule some = Make()->Schedule("create");
  EXPECT_THAT(some.weight, AllOf(Ge(0.1), Le(0.6)));
  Fill(*model_, "create", 60, 0.1, 10);
  EXPECT_EQ(Make()->Schedule("create").weight, 1);
  EXPECT_EQ(Make()->Schedule("unknown").weight, 0);
  EXPECT_THAT(Make()->Schedule("unknown").polls, IsEmpty());
}

TEST_F(LearnedDelaysTest, FewDurationsBesideACurveWithoutDelaysArePolledFast) {
  Fill(*model_, "create", 10, 0.1, 5);
  WaitOptions options = Options(Make());
  options.backoff = {.initial_delay = absl::ZeroDuration(),
                     .max_delay = absl::Seconds(1),
                     .min_delay = absl::Milliseconds(500)};
  const std::vector<double> times = PollTimes(options, absl::Seconds(10));
  EXPECT_THAT(times.back(), AllOf(Ge(10), Le(13)));
}

TEST_F(LearnedDelaysTest, ColdModelKeepsTheCurveOfPollsThatTakeLong) {
  const auto times = [&](std::shared_ptr<LearnedDelays> learned) {
    SimulatedClock clock;
    WaitOptions options = Options(std::move(learned));
    options.clock = &clock;
    options.backoff.jitter = Jitter::None();
    std::vector<absl::Duration> starts;
    Waiter wait(
        [&] {
          starts.push_back(clock.Elapsed());
          clock.AdvanceTime(absl::Seconds(5));
          return clock.Elapsed() >= absl::Minutes(1);
        },
        options);
    EXPECT_TRUE(wait.Wait().ok());
    return starts;
  };
  EXPECT_EQ(times(Make()), times(nullptr));
}

TEST_F(LearnedDelaysTest, DurationsThatBecomeFourTimesLongerAreFollowed) {
  Fill(*model_, "create", 60, 0.2, 60);
  const auto learned = Make();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    PollTimes(Options(learned, seed), absl::Seconds(240));
  }
  const std::vector<double> times =
      PollTimes(Options(learned, 99), absl::Seconds(240));
  EXPECT_LE(times.size(), 9);
  EXPECT_LE(times.back(), 250);
}

TEST_F(LearnedDelaysTest, DurationsThatBecomeFourTimesShorterAreFollowed) {
  Fill(*model_, "create", 240, 0.2, 60);
  const auto learned = Make();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    PollTimes(Options(learned, seed), absl::Seconds(60));
  }
  const std::vector<double> times =
      PollTimes(Options(learned, 99), absl::Seconds(60));
  EXPECT_LE(times.size(), 10);
  EXPECT_LE(times.back(), 68);
}

// Returns the probability of an end by `time`.
double ProbabilityBy(const LearnedSchedule& schedule, absl::Duration time) {
  double probability = 0;
  for (const auto& point : schedule.distribution) {
    if (point.time <= time) probability = point.probability;
  }
  return probability;
}

TEST_F(LearnedDelaysTest, HoweverManyNewDurationsThereAreNoOldOneCountsAsNew) {
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
TEST_F(LearnedDelaysTest, DurationAtTheEdgeOfTheOldOnesDoesNotKeepThemAlive) {
  for (const double seconds :
       {5120, 15160, 3195, 3660, 5940, 1660, 3280, 5840, 6650, 6655,
        2390, 9500,  6870, 3140, 5280, 4350, 4000, 3550, 1240, 10000,
        43,   42,    52,   37,   70,   34,   57,   40,   213,  210}) {
    Fill(*model_, "create", seconds, 0, 1);
  }
  EXPECT_GE(ProbabilityBy(Make()->Schedule("create"), absl::Minutes(5)), 0.9);
}

TEST_F(LearnedDelaysTest, DurationsAtTheEdgeOfAModeAreNoChange) {
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

TEST_F(LearnedDelaysTest, WaitsThatRanSideBySideAreNoChange) {
  // They end in the order of their durations.
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) Fill(*model_, "create", 50 + i, 0, 1);
  }
  EXPECT_EQ(Make()->Schedule("create").weight, 1);
  double at_middle = 0;
  for (const auto& [time, probability] :
       Make()->Schedule("create").distribution) {
    if (time <= absl::Seconds(60)) at_middle = probability;
  }
  EXPECT_NEAR(at_middle, 0.5, 0.1);
}

TEST_F(LearnedDelaysTest, TwoWavesOfDurationsHaveNoPollsBetweenThem) {
  for (int i = 0; i < 30; ++i) {
    Fill(*model_, "create", i % 5 < 3 ? 5 : 300, 0, 1);
  }
  const std::vector<double> times =
      PollTimes(Options(Make({.seconds_of_delay_worth_one_poll = 5,
                              .max_relative_lateness = kNoLimit,
                              .exploration = 0})),
                absl::Seconds(300));
  EXPECT_LE(times.size(), 5);
  EXPECT_EQ(std::count_if(times.begin(), times.end(),
                          [](double time) { return time > 10 && time < 290; }),
            0);
}

TEST_F(LearnedDelaysTest, TargetOfPollsIsKept) {
  Fill(*model_, "create", 60, 0.5, 60);
  for (const double polls : {4.0, 6.0, 9.0}) {
    const LearnedSchedule schedule =
        Make({.expected_polls = polls})->Schedule("create");
    EXPECT_LE(schedule.expected_polls, polls + 0.01);
    EXPECT_GE(schedule.expected_polls, polls - 0.7);
  }
}

TEST_F(LearnedDelaysTest, TargetOfLatenessIsKept) {
  Fill(*model_, "create", 60, 0.5, 60);
  const auto learned =
      Make({.max_lateness = absl::Seconds(4), .percentile = 0.9});
  int late = 0;
  for (int i = 0; i < 60; ++i) {
    const double end = 30.5 + i;
    const auto times = PollTimes(Options(learned, 7), absl::Seconds(end));
    if (times.back() - end > 4.4) ++late;
  }
  EXPECT_LE(late, 9);
}

TEST_F(LearnedDelaysTest, WorthOfAPollTradesPollsForLateness) {
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

TEST_F(LearnedDelaysTest, WithoutATargetItIsAsLateAsTheDefaultCurve) {
  Fill(*model_, "create", 60, 0.5, 60);
  const LearnedSchedule schedule = Make()->Schedule("create");
  // Delays of 4 to 8 s notice an end after 3.11 s on average.
  EXPECT_THAT(absl::ToDoubleSeconds(schedule.expected_lateness),
              AllOf(Ge(2.5), Le(3.12)));
  EXPECT_LT(schedule.expected_polls, 12);
}

TEST_F(LearnedDelaysTest, LatenessThatSavesNoPollIsNotSpent) {
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

TEST_F(LearnedDelaysTest, TenDurationsOfEachOfTwoWavesTellHowWideTheyAre) {
  for (int i = 0; i < 10; ++i) {
    // From 0.8 to 1.2, in an order without a trend.
    const double part = 0.8 + 0.4 * (i * 7 % 10) / 9;
    for (const double usual : {5.0, 300.0}) {
      const absl::Duration exact = absl::Seconds(usual * part);
      model_->Record("create", {.after = exact, .by = exact});
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

TEST_F(LearnedDelaysTest, DistributionIsThatOfTheDurations) {
  Fill(*model_, "create", 60, 0.5, 60);
  double before = 0;
  double at_median = 0;
  for (const auto& [time, probability] :
       Make()->Schedule("create").distribution) {
    EXPECT_GE(probability, before);
    before = probability;
    if (time <= absl::Seconds(60)) at_median = probability;
  }
  EXPECT_NEAR(at_median, 0.5, 0.06);
  EXPECT_GT(before, 0.9);
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

TEST_F(LearnedDelaysTest, WhateverTheDurationsAreTheScheduleIsFiniteAndRises) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("WAITER_TEST_SEED=", seed));
    std::mt19937_64 gen(seed);
    FillAtRandom(*model_, gen);
    LearnedDelaysOptions options;
    if (gen() % 2 == 0) options.max_relative_lateness = kNoLimit;
    if (gen() % 2 == 0) options.seconds_of_delay_worth_one_poll = 1;
    const LearnedSchedule schedule = Make(options)->Schedule("create");
    EXPECT_TRUE(std::isfinite(schedule.expected_polls));
    EXPECT_LT(schedule.expected_lateness, absl::InfiniteDuration());
    absl::Duration last = absl::ZeroDuration();
    for (const absl::Duration poll : schedule.polls) {
      ASSERT_GE(poll, last);
      last = poll;
    }
    EXPECT_LT(last, absl::InfiniteDuration());
    double probability = 0;
    for (const LearnedSchedule::Point& point : schedule.distribution) {
      ASSERT_GE(point.probability, probability);
      probability = point.probability;
    }
    EXPECT_LE(probability, 1 + 1e-9);
    model_ = std::make_shared<DurationModel>();
  }
}

TEST_F(LearnedDelaysTest, WaitsWithoutAnEndMoveTheDistributionUp) {
  Fill(*model_, "create", 60, 0.5, 20);
  const auto probability_at_70s = [this] {
    double last = 0;
    for (const auto& [time, probability] :
         Make()->Schedule("create").distribution) {
      if (time <= absl::Seconds(70)) last = probability;
    }
    return last;
  };
  const double before = probability_at_70s();
  for (int i = 0; i < 10; ++i) {
    model_->Record("create", {.after = absl::Seconds(70)});
  }
  EXPECT_LT(probability_at_70s(), before - 0.1);
  EXPECT_GT(probability_at_70s(), before / 2);
}

TEST_F(LearnedDelaysTest, OnlyDurationsWithoutAnEndTeachNothing) {
  for (int i = 0; i < 50; ++i) {
    model_->Record("create", {.after = absl::Seconds(70)});
  }
  EXPECT_EQ(Make()->Schedule("create").weight, 0);
}

TEST_F(LearnedDelaysTest, OperationsLearnApart) {
  Fill(*model_, "delete", 60, 0.1, 20);
  WaitOptions plain = Options(nullptr);
  WaitOptions learned = Options(Make());
  plain.backoff.jitter = learned.backoff.jitter = Jitter::None();
  EXPECT_EQ(PollTimes(learned, absl::Minutes(1)),
            PollTimes(plain, absl::Minutes(1)));
}

TEST_F(LearnedDelaysTest, HintOfTheServerIsNotUndercut) {
  Fill(*model_, "create", 60, 0, 20);
  SimulatedClock clock;
  WaitOptions options = Options(Make());
  options.clock = &clock;
  std::vector<double> times;
  Waiter wait(
      [&]() -> Poll<> {
        times.push_back(absl::ToDoubleSeconds(clock.Elapsed()));
        if (clock.Elapsed() >= absl::Seconds(60)) return Success();
        return {PollStatus::kNotReady, "", absl::Seconds(45)};
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  ASSERT_GE(times.size(), 2);
  EXPECT_GE(times[1], 45);
}

TEST_F(LearnedDelaysTest, ThrottledAndServerErrorHaveTheirCurves) {
  Fill(*model_, "create", 3600, 0, 20);
  SimulatedClock clock;
  WaitOptions options = Options(Make());
  options.clock = &clock;
  options.errors.throttled_backoff = {.initial_delay = absl::Seconds(20),
                                      .max_delay = absl::Seconds(20),
                                      .jitter = Jitter::None()};
  options.errors.server_error_backoff = {.initial_delay = absl::Seconds(3),
                                         .max_delay = absl::Seconds(3),
                                         .jitter = Jitter::None()};
  std::vector<double> times;
  Waiter wait(
      [&]() -> Poll<> {
        times.push_back(absl::ToDoubleSeconds(clock.Elapsed()));
        if (times.size() == 1) return Throttled();
        if (times.size() == 2) return ServerError(absl::UnavailableError(""));
        return Success();
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_THAT(times, ElementsAre(0, 20, 23));
}

TEST_F(LearnedDelaysTest, NoPollPassesTheDeadlineAndOneIsMadeThere) {
  Fill(*model_, "create", 3600, 0, 20);
  WaitOptions options = Options(Make({.max_relative_lateness = kNoLimit}));
  options.timeout = absl::Seconds(90);
  const std::vector<double> times = PollTimes(options, absl::Hours(9));
  EXPECT_THAT(last_, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(times.back(), 90);
}

TEST_F(LearnedDelaysTest, MinDelayOfTheCurveHolds) {
  Fill(*model_, "create", 0.001, 0, 40);
  WaitOptions options = Options(Make());
  options.backoff.min_delay = absl::Seconds(2);
  const std::vector<double> times = PollTimes(options, absl::Seconds(20));
  for (size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], 2);
  }
}

TEST_F(LearnedDelaysTest,
       DurationsFromNanosecondsToCenturiesHaveBoundedEffects) {
  for (const absl::Duration duration :
       {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Microseconds(3),
        absl::Hours(24 * 365), absl::Hours(24 * 365'000)}) {
    for (int i = 0; i < 10; ++i) {
      model_->Record("create", {.after = duration, .by = duration});
    }
    WaitOptions options = Options(Make());
    options.timeout = absl::Minutes(2);
    const std::vector<double> times = PollTimes(options, absl::Seconds(50));
    EXPECT_LE(times.back(), 120) << duration;
    EXPECT_LE(times.size(), 40) << duration;
  }
}

TEST_F(LearnedDelaysTest, WaitsOfAFleetDoNotPollTogether) {
  Fill(*model_, "create", 60, 0.3, 40);
  const auto learned = Make();
  std::vector<double> seconds;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    seconds.push_back(PollTimes(Options(learned, seed), absl::Seconds(60))[2]);
  }
  std::sort(seconds.begin(), seconds.end());
  EXPECT_GT(seconds[90] - seconds[10], 1);
}

TEST_F(LearnedDelaysTest, SomePollsComeEarlyToLook) {
  Fill(*model_, "create", 60, 0, 40);
  const auto learned = Make({.seconds_of_delay_worth_one_poll = 1,
                             .max_relative_lateness = kNoLimit,
                             .exploration = 0.25});
  int early = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    if (PollTimes(Options(learned, seed), absl::Seconds(60))[1] < 55) ++early;
  }
  EXPECT_THAT(early, AllOf(Ge(25), Le(75)));
}

TEST_F(LearnedDelaysTest, ObserverSeesTheReason) {
  struct Reasons : WaitObserver {
    void BeforeSleep(const SleepEvent& sleep) override {
      reasons.push_back(sleep.reason);
    }
    std::vector<SleepReason> reasons;
  };
  Fill(*model_, "create", 60, 0.1, 20);
  const auto observer = std::make_shared<Reasons>();
  WaitOptions options = Options(Make());
  options.hooks.observer = observer;
  PollTimes(options, absl::Seconds(60));
  EXPECT_THAT(observer->reasons, Each(SleepReason::kLearned));
  EXPECT_EQ(SleepReasonName(SleepReason::kLearned), "learned");
}

TEST_F(LearnedDelaysTest, ResumedWaitIsRecordedFromItsStart) {
  Fill(*model_, "create", 60, 0.1, 20);
  const auto learned = Make();
  std::optional<WaitToken> token;
  SimulatedClock clock;
  WaitOptions options = Options(learned);
  options.clock = &clock;
  options.hooks.on_checkpoint = [&](const WaitToken& saved) { token = saved; };
  options.max_attempts = 2;
  Waiter first([] { return false; }, options);
  EXPECT_FALSE(first.Wait().ok());
  ASSERT_TRUE(token.has_value());
  const double saved_at = absl::ToDoubleSeconds(clock.Elapsed());
  options.max_attempts.reset();
  Waiter second([&] { return clock.Elapsed() >= absl::Seconds(60); }, options);
  EXPECT_TRUE(second.Wait({.resume = *token}).ok());
  const ObservedDuration last = model_->Durations("create").back();
  EXPECT_GE(absl::ToDoubleSeconds(last.by), 60);
  EXPECT_GT(saved_at, 1);
}

TEST(LearnedDelaysOptionsTest, EveryRangeIsChecked) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Validate(LearnedDelaysOptions()), absl::OkStatus());
  EXPECT_EQ(Validate({.max_relative_lateness = kNoLimit}), absl::OkStatus());
  const std::vector<std::pair<LearnedDelaysOptions, std::string>> wrong = {
      {{.seconds_of_delay_worth_one_poll = 0},
       "seconds_of_delay_worth_one_poll"},
      {{.seconds_of_delay_worth_one_poll = kNan},
       "seconds_of_delay_worth_one_poll"},
      {{.seconds_of_delay_worth_one_poll = kNoLimit},
       "seconds_of_delay_worth_one_poll"},
      {{.expected_polls = 1}, "expected_polls"},
      {{.expected_polls = kNan}, "expected_polls"},
      {{.max_lateness = absl::ZeroDuration()}, "max_lateness"},
      {{.max_lateness = absl::InfiniteDuration()}, "max_lateness"},
      {{.percentile = 0}, "percentile"},
      {{.percentile = 1}, "percentile"},
      {{.max_relative_lateness = 0}, "max_relative_lateness"},
      {{.max_relative_lateness = kNan}, "max_relative_lateness"},
      {{.min_observations = 2}, "min_observations"},
      {{.exploration = -0.1}, "exploration"},
      {{.exploration = 0.6}, "exploration"},
      {{.seconds_of_delay_worth_one_poll = 1, .expected_polls = 3},
       "at most one of"}};
  for (const auto& [options, part] : wrong) {
    EXPECT_THAT(Validate(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)));
    EXPECT_THAT(LearnedDelays::Make(std::make_shared<DurationModel>(), options)
                    .status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(LearnedDelays::Make(nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("null")));
}

}  // namespace
}  // namespace waiter::learned_delays_test
