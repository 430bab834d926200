// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose delays are learned, on simulated time.

#include "waiter/learned/learned_delays.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/learned/learned_fixture.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/learned/durations.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::learned_delays_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class LearnedDelaysTest : public LearnedFixture {
 protected:
  // Returns the poll times of a wait for an operation that ends at `end`; each
  // poll takes `took`.
  std::vector<double> PollTimes(const WaitOptions& options, absl::Duration end,
                                absl::Duration took = absl::ZeroDuration()) {
    SimulatedClock clock;
    std::vector<double> times;
    WaitOptions used = options;
    used.clock = &clock;
    Waiter wait(
        [&] {
          times.push_back(absl::ToDoubleSeconds(clock.Elapsed()));
          clock.AdvanceTime(took);
          return clock.Elapsed() >= end;
        },
        used);
    last_ = wait.Wait().status();
    return times;
  }

  // Returns the poll times of a wait for `poll`, which gets the number of the
  // poll and its time, and succeeds in the end.
  static std::vector<double> PollTimes(
      WaitOptions options,
      const std::function<Poll<>(size_t number, absl::Duration now)>& poll) {
    SimulatedClock clock;
    std::vector<double> times;
    options.clock = &clock;
    Waiter wait(
        [&] {
          times.push_back(absl::ToDoubleSeconds(clock.Elapsed()));
          return poll(times.size(), clock.Elapsed());
        },
        std::move(options));
    EXPECT_TRUE(wait.Wait().ok());
    return times;
  }

  // Expects the learned delays after polls that take `took`.
  void ExpectTheCurve(absl::Duration took = absl::ZeroDuration()) {
    WaitOptions plain = Options(nullptr);
    WaitOptions learned = Options(Make());
    // The table draws first, so jitter differs.
    plain.backoff.jitter = learned.backoff.jitter = Jitter::None();
    const std::vector<double> times =
        PollTimes(learned, absl::Minutes(1), took);
    EXPECT_EQ(last_, absl::OkStatus());
    EXPECT_EQ(times, PollTimes(plain, absl::Minutes(1), took));
  }

  static WaitOptions Options(std::shared_ptr<LearnedDelays> learned,
                             uint64_t seed = 1) {
    return {.operation = "create",
            .timeout = absl::Hours(10),
            .delay_source = std::move(learned),
            .hooks = {.seed = seed}};
  }

  absl::Status last_;
};

TEST_F(LearnedDelaysTest, WithoutDurationsTheDelaysAreThoseOfTheCurve) {
  ExpectTheCurve();
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

TEST_F(LearnedDelaysTest, FewDurationsGiveDelaysBetweenBackoffAndModel) {
  Fill(*model_, "create", 60, 0, 5);
  WaitOptions options = Options(Make({.exploration = 0}));
  options.backoff = {.initial_delay = absl::Seconds(1),
                     .max_delay = absl::Seconds(1),
                     .jitter = Jitter::None()};
  // The model alone would poll after 30 s.
  EXPECT_THAT(PollTimes(options, absl::Minutes(1)).at(1),
              AllOf(Ge(1.5), Le(25)));
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
  ExpectTheCurve(absl::Seconds(5));
}

TEST_F(LearnedDelaysTest,
       DurationsThatBecomeFourTimesAsLongOrShortAreFollowed) {
  struct Row {
    int before;
    int after;
    size_t most_polls;
    double latest;
  };
  for (const auto& [before, after, most_polls, latest] :
       {Row{60, 240, 9, 250}, Row{240, 60, 10, 68}}) {
    SCOPED_TRACE(absl::StrCat(before, " s, then ", after, " s"));
    model_ = std::make_shared<DurationModel>();
    Fill(*model_, "create", before, 0.2, 60);
    const auto learned = Make();
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      PollTimes(Options(learned, seed), absl::Seconds(after));
    }
    const std::vector<double> times =
        PollTimes(Options(learned, 99), absl::Seconds(after));
    EXPECT_LE(times.size(), most_polls);
    EXPECT_LE(times.back(), latest);
  }
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

TEST_F(LearnedDelaysTest, OperationsLearnApart) {
  Fill(*model_, "delete", 60, 0.1, 20);
  ExpectTheCurve();
}

TEST_F(LearnedDelaysTest, HintOfTheServerIsNotUndercut) {
  Fill(*model_, "create", 60, 0, 20);
  const std::vector<double> times =
      PollTimes(Options(Make()), [](size_t, absl::Duration now) -> Poll<> {
        if (now >= absl::Seconds(60)) return Success();
        return {PollStatus::kNotReady, "", absl::Seconds(45)};
      });
  ASSERT_GE(times.size(), 2);
  EXPECT_GE(times[1], 45);
}

TEST_F(LearnedDelaysTest, ThrottledAndServerErrorHaveTheirCurves) {
  Fill(*model_, "create", 3600, 0, 20);
  WaitOptions options = Options(Make());
  options.errors.throttled_backoff = Every(absl::Seconds(20));
  options.errors.server_error_backoff = Every(absl::Seconds(3));
  const auto poll = [](size_t number, absl::Duration) -> Poll<> {
    if (number == 1) return Throttled();
    if (number == 2) return ServerError(absl::UnavailableError(""));
    return Success();
  };
  EXPECT_THAT(PollTimes(options, poll), ElementsAre(0, 20, 23));
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
  for (const double usual : {0.001, 20.0}) {
    model_ = std::make_shared<DurationModel>();
    Fill(*model_, "create", usual, 0, 40);
    for (const double limit : {1.0, 1e-300}) {
      WaitOptions options = Options(Make({.max_relative_lateness = limit}));
      options.backoff.min_delay = absl::Seconds(2);
      const std::vector<double> times = PollTimes(options, absl::Seconds(20));
      for (size_t i = 1; i < times.size(); ++i) {
        EXPECT_GE(times[i] - times[i - 1], 2);
      }
    }
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

TEST_F(LearnedDelaysTest, EveryCurveTakesPartWithoutAnOverflow) {
  constexpr absl::Duration kForever = absl::InfiniteDuration();
  constexpr absl::Duration kNone = absl::ZeroDuration();
  for (const BackoffOptions& curve : std::vector<BackoffOptions>{
           {.initial_delay = kNone, .max_delay = kNone},
           {.initial_delay = kNone, .max_delay = kForever},
           {.initial_delay = absl::Seconds(1), .max_delay = kForever},
           {.initial_delay = absl::Seconds(1),
           .max_delay = kForever,
           .multiplier = 1e300},
           {.initial_delay = absl::Nanoseconds(1),
           .max_delay = kForever,
           .multiplier = 1,
           .jitter = Jitter::Full()},
           {.initial_delay = absl::Hours(24 * 365'000), .max_delay = kForever},
           {.initial_delay = absl::Seconds(1),
           .max_delay = kForever,
           .jitter = Jitter::Decorrelated()}}) {
    for (const int count : {0, 1, 2, 4, 7, 8, 128}) {
      for (const double end : {0.5, 60.0, 300.0}) {
        SCOPED_TRACE(absl::StrCat(count, " durations, end at ", end));
        model_ = std::make_shared<DurationModel>();
        Fill(*model_, "create", 60, 0, count);
        WaitOptions options = Options(Make());
        options.backoff = curve;
        options.timeout = absl::Minutes(10);
        const std::vector<double> times =
            PollTimes(options, absl::Seconds(end), absl::Milliseconds(100));
        EXPECT_EQ(last_, absl::OkStatus());
        EXPECT_LE(times.size(), 6001);
        EXPECT_LE(times.back(), 601);
      }
    }
  }
}

TEST_F(LearnedDelaysTest, OperationThatWasForgottenIsLearnedAgain) {
  model_ = std::make_shared<DurationModel>(
      DurationModelOptions{.max_operations = 1});
  const auto learned = Make({.exploration = 0});
  const auto first_delay = [&](absl::Duration end) {
    return PollTimes(Options(learned), end).at(1);
  };
  Fill(*model_, "create", 300, 0, 10);
  EXPECT_GT(first_delay(absl::Minutes(5)), 20);
  EXPECT_GT(learned->Schedule("create").polls.back(), absl::Minutes(2));
  // As many durations as before, so their number shows no difference.
  Fill(*model_, "other", 1, 0, 1);
  EXPECT_EQ(learned->Schedule("create").weight, 0);
  Fill(*model_, "create", 1, 0, 11);
  EXPECT_LT(learned->Schedule("create").polls.front(), absl::Seconds(10));
  EXPECT_LT(first_delay(absl::Seconds(1)), 10);
}

TEST_F(LearnedDelaysTest, MergedDurationsCountOnceAWaitHasEnded) {
  const auto learned = Make();
  WaitOptions options = Options(learned);
  SimulatedClock clock;
  options.clock = &clock;
  const auto policy = WaitPolicy::Make(options);
  DurationModel other;
  Fill(other, "create", 60, 0, 20);
  EXPECT_EQ(model_->Merge(other.ToText()), absl::OkStatus());
  int polls = 0;
  for (int wait = 0; wait < 2; ++wait) {
    polls = 0;
    const absl::Duration end = clock.Elapsed() + absl::Minutes(1);
    EXPECT_TRUE(Waiter(
                    [&] {
                      ++polls;
                      return clock.Elapsed() >= end;
                    },
                    policy)
                    .Wait()
                    .ok());
  }
  EXPECT_LE(polls, 5);
}

TEST_F(LearnedDelaysTest, WithoutRecordingTheDelaysAreEqualAndTheModelStays) {
  Fill(*model_, "create", 60, 0, 20);
  const auto learned = Make({.expected_polls = 5});
  const auto played = learned->WithoutRecording();
  EXPECT_EQ(&played->model(), model_.get());
  EXPECT_EQ(played->options().expected_polls, 5);
  EXPECT_EQ(played->Schedule("create").polls,
            learned->Schedule("create").polls);
  const std::string before = model_->ToText();
  const auto times = PollTimes(Options(played), absl::Minutes(1));
  EXPECT_EQ(model_->ToText(), before);
  EXPECT_EQ(PollTimes(Options(learned), absl::Minutes(1)), times);
  EXPECT_NE(model_->ToText(), before);
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

TEST(LearnedDelaysOptionsTest, EndsOfEveryRangeAreTaken) {
  for (const LearnedDelaysOptions& options : std::vector<LearnedDelaysOptions>{
           {},
           {.seconds_of_delay_worth_one_poll = 1e-300},
           {.seconds_of_delay_worth_one_poll = 1e300},
           {.expected_polls = std::nextafter(1, 2)},
           {.expected_polls = 1e300},
           {.max_lateness = absl::Nanoseconds(1)},
           {.max_lateness = absl::Hours(24 * 365'000)},
           {.percentile = 1e-300},
           {.percentile = std::nextafter(1, 0)},
           {.max_relative_lateness = 1e-300},
           {.max_relative_lateness = kNoLimit},
           {.min_observations = 3},
           {.min_observations = std::numeric_limits<int64_t>::max()},
           {.exploration = 0},
           {.exploration = 0.5}}) {
    EXPECT_EQ(Validate(options), absl::OkStatus());
    EXPECT_EQ(LearnedDelays::Make(std::make_shared<DurationModel>(), options)
                  .status(),
              absl::OkStatus());
  }
}

TEST(LearnedDelaysOptionsTest, WhatIsBeyondARangeIsRefusedByNameAndValue) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr absl::Duration kForever = absl::InfiniteDuration();
  const std::vector<std::pair<LearnedDelaysOptions, std::string>> wrong = {
      {{.seconds_of_delay_worth_one_poll = 0},
       "seconds_of_delay_worth_one_poll is 0; it must be finite, and above "},
      {{.seconds_of_delay_worth_one_poll = -1},
       "seconds_of_delay_worth_one_poll is -1;"},
      {{.seconds_of_delay_worth_one_poll = kNan},
       "seconds_of_delay_worth_one_poll is nan;"},
      {{.seconds_of_delay_worth_one_poll = kNoLimit},
       "seconds_of_delay_worth_one_poll is inf;"},
      {{.expected_polls = 0.75},
       "expected_polls is 0.75; it must be finite, and above 1"},
      {{.expected_polls = 1}, "expected_polls is 1;"},
      {{.expected_polls = kNan}, "expected_polls is nan;"},
      {{.expected_polls = kNoLimit}, "expected_polls is inf;"},
      {{.max_lateness = -absl::Seconds(7)},
       "max_lateness is -7s; it must be finite, and above zero"},
      {{.max_lateness = absl::ZeroDuration()}, "max_lateness is 0;"},
      {{.max_lateness = kForever}, "max_lateness is inf;"},
      {{.max_lateness = -kForever}, "max_lateness is -inf;"},
      {{.percentile = 0}, "percentile is 0; it must be within (0, 1)"},
      {{.percentile = 1}, "percentile is 1;"},
      {{.percentile = kNan}, "percentile is nan;"},
      {{.max_relative_lateness = 0},
       "max_relative_lateness is 0; it must be above zero"},
      {{.max_relative_lateness = -kNoLimit}, "max_relative_lateness is -inf;"},
      {{.max_relative_lateness = kNan}, "max_relative_lateness is nan;"},
      {{.min_observations = 2}, "min_observations is 2; it must be at least 3"},
      {{.min_observations = std::numeric_limits<int64_t>::min()},
       "min_observations is -9223372036854775808;"},
      {{.exploration = -0.1}, "exploration is -0.1;"},
      {{.exploration = std::nextafter(0.5, 1)}, "exploration is 0.5"},
      {{.exploration = 0.625},
       "exploration is 0.625; it must be within [0, 0.5]"},
      {{.exploration = kNan}, "exploration is nan;"},
      {{.seconds_of_delay_worth_one_poll = 1, .expected_polls = 3},
       "at most one of"},
      {{.expected_polls = 3, .max_lateness = absl::Seconds(1)},
       "at most one of"},
      {{.seconds_of_delay_worth_one_poll = 1, .max_lateness = absl::Seconds(1)},
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
