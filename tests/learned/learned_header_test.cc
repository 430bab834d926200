// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Promises of the headers of learned delays beyond the rules of waiting:
// ranges, the durations that each kind of wait records, and files that change
// while they are open.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/delay_source.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr char kHeader[] = "waiter durations 1\n";

ObservedDuration Exactly(double seconds) {
  return {.after = absl::Seconds(seconds), .by = absl::Seconds(seconds)};
}

void Fill(DurationModel& model, std::string_view operation, double seconds,
          int count) {
  for (int i = 0; i < count; ++i) model.Record(operation, Exactly(seconds));
}

std::shared_ptr<LearnedDelays> Learned(
    const std::shared_ptr<DurationModel>& model,
    const LearnedDelaysOptions& options = {}) {
  auto made = LearnedDelays::Make(model, options);
  EXPECT_EQ(made.status(), absl::OkStatus());
  return *made;
}

// ---------------------------------------------------------------------------
// Options.

TEST(LearnedOptionsHeaderTest, EndsOfEveryRangeAreTakenOrRefused) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const LearnedDelaysOptions& options : std::vector<LearnedDelaysOptions>{
           {.seconds_of_delay_worth_one_poll = 1e-300},
           {.seconds_of_delay_worth_one_poll = 1e300},
           {.expected_polls = std::nextafter(1, 2)},
           {.expected_polls = 1e300},
           {.max_lateness = absl::Nanoseconds(1)},
           {.max_lateness = absl::Hours(24 * 365'000)},
           {.percentile = 1e-300},
           {.percentile = std::nextafter(1, 0)},
           {.max_relative_lateness = 1e-300},
           {.min_observations = 3},
           {.min_observations = kMost},
           {.exploration = 0},
           {.exploration = 0.5}}) {
    EXPECT_EQ(Validate(options), absl::OkStatus());
    EXPECT_EQ(LearnedDelays::Make(std::make_shared<DurationModel>(), options)
                  .status(),
              absl::OkStatus());
  }
  const std::vector<std::pair<LearnedDelaysOptions, std::string>> wrong = {
      {{.seconds_of_delay_worth_one_poll = -1},
       "seconds_of_delay_worth_one_poll"},
      {{.expected_polls = 0}, "expected_polls"},
      {{.expected_polls = kInfinity}, "expected_polls"},
      {{.max_lateness = -absl::Nanoseconds(1)}, "max_lateness"},
      {{.max_lateness = -absl::InfiniteDuration()}, "max_lateness"},
      {{.percentile = -1}, "percentile"},
      {{.percentile = 2}, "percentile"},
      {{.percentile = kNan}, "percentile"},
      {{.max_relative_lateness = -1}, "max_relative_lateness"},
      {{.max_relative_lateness = -kInfinity}, "max_relative_lateness"},
      {{.min_observations = -kMost}, "min_observations"},
      {{.exploration = kNan}, "exploration"},
      {{.exploration = std::nextafter(0.5, 1)}, "exploration"}};
  for (const auto& [options, field] : wrong) {
    EXPECT_THAT(Validate(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)));
  }
}

TEST(LearnedOptionsHeaderTest, ErrorHasTheFieldItsValueAndItsRange) {
  EXPECT_THAT(
      std::string(
          Validate(LearnedDelaysOptions{.expected_polls = 0.75}).message()),
      AllOf(HasSubstr("expected_polls"), HasSubstr("0.75"), HasSubstr("1")));
  EXPECT_THAT(
      std::string(
          Validate(LearnedDelaysOptions{.min_observations = 2}).message()),
      AllOf(HasSubstr("min_observations"), HasSubstr("2"), HasSubstr("3")));
  EXPECT_THAT(
      std::string(
          Validate(LearnedDelaysOptions{.max_lateness = -absl::Seconds(7)})
              .message()),
      AllOf(HasSubstr("max_lateness"), HasSubstr("-7s"), HasSubstr("zero")));
  EXPECT_THAT(
      std::string(
          Validate(LearnedDelaysOptions{.exploration = 0.625}).message()),
      AllOf(HasSubstr("exploration"), HasSubstr("0.625"), HasSubstr("0.5")));
}

TEST(LearnedOptionsHeaderTest, AtMostOneOfTheThreeTargetsMayBeSet) {
  LearnedDelaysOptions two = {.expected_polls = 3,
                              .max_lateness = absl::Seconds(1)};
  EXPECT_THAT(Validate(two), StatusIs(absl::StatusCode::kInvalidArgument));
  two = {.seconds_of_delay_worth_one_poll = 1,
         .max_lateness = absl::Seconds(1)};
  EXPECT_THAT(Validate(two), StatusIs(absl::StatusCode::kInvalidArgument));
  two.expected_polls = 3;
  EXPECT_THAT(Validate(two), StatusIs(absl::StatusCode::kInvalidArgument));
}

// ---------------------------------------------------------------------------
// Schedules.

TEST(LearnedScheduleHeaderTest, WithTooFewDurationsItIsEmpty) {
  const auto model = std::make_shared<DurationModel>();
  const auto learned = Learned(model);
  for (int count = 0; count < 3; ++count) {
    const LearnedSchedule schedule = learned->Schedule("a");
    EXPECT_EQ(schedule.weight, 0);
    EXPECT_THAT(schedule.polls, IsEmpty());
    EXPECT_EQ(schedule.expected_polls, 0);
    EXPECT_EQ(schedule.expected_lateness, absl::ZeroDuration());
    EXPECT_EQ(schedule.seconds_of_delay_worth_one_poll, 0);
    EXPECT_EQ(schedule.distribution.empty(), count == 0);
    model->Record("a", Exactly(60));
  }
  EXPECT_GT(learned->Schedule("a").weight, 0);
}

TEST(LearnedScheduleHeaderTest, WeightGrowsFromTwoUpToMinObservations) {
  for (const int64_t enough : {3, 8, 40}) {
    const auto model = std::make_shared<DurationModel>();
    const auto learned = Learned(model, {.min_observations = enough});
    Fill(*model, "a", 60, 2);
    // Durations without an end do not count.
    for (int i = 0; i < 3; ++i) model->Record("a", {.after = absl::Seconds(9)});
    double last = 0;
    for (int64_t count = 3; count < enough; ++count) {
      model->Record("a", Exactly(60));
      const double weight = learned->Schedule("a").weight;
      EXPECT_GT(weight, last) << count << " of " << enough;
      EXPECT_LT(weight, 1) << count << " of " << enough;
      last = weight;
    }
    // Older durations count less, so a few more are needed.
    Fill(*model, "a", 60, static_cast<int>(2 + enough / 4));
    EXPECT_EQ(learned->Schedule("a").weight, 1) << enough;
  }
}

TEST(LearnedScheduleHeaderTest, DurationsCountAsNinetyAtTheMost) {
  const auto model = std::make_shared<DurationModel>();
  Fill(*model, "a", 60, 300);
  EXPECT_EQ(Learned(model, {.min_observations = 90})->Schedule("a").weight, 1);
  EXPECT_LT(Learned(model, {.min_observations = 100})->Schedule("a").weight, 1);
}

TEST(LearnedScheduleHeaderTest, MayTakeMoreDurationsThanThereEverAre) {
  const auto model = std::make_shared<DurationModel>();
  const auto learned =
      Learned(model, {.min_observations = std::numeric_limits<int64_t>::max()});
  Fill(*model, "a", 60, 200);
  EXPECT_THAT(learned->Schedule("a").weight, AllOf(Ge(0), Le(0.5)));
}

TEST(LearnedScheduleHeaderTest, HoldsForEveryTargetAndEveryModel) {
  std::vector<std::vector<ObservedDuration>> models;
  models.push_back(std::vector<ObservedDuration>(2, Exactly(60)));
  models.push_back(std::vector<ObservedDuration>(128, Exactly(1e-9)));
  models.push_back(
      std::vector<ObservedDuration>(128, Exactly(86400.0 * 365'000)));
  // Durations from a nanosecond to 1000 years, exact and between polls.
  for (const double width : {1.0, 3.0}) {
    models.emplace_back();
    for (int i = 0; i < 60; ++i) {
      const double after = 1e-9 * std::pow(10, i * 19 % 60 / 3.2);
      models.back().push_back(
          {.after = absl::Seconds(after), .by = absl::Seconds(after * width)});
    }
  }
  // First, half of them without an end; then one with an end among many
  // without.
  models.emplace_back();
  for (int i = 0; i < 40; ++i) {
    models.back().push_back(i % 2 == 0
                                ? Exactly(10 + i)
                                : ObservedDuration{.after = absl::Minutes(1)});
  }
  models.emplace_back(100, ObservedDuration{.after = absl::Minutes(1)});
  models.back().push_back(Exactly(5));
  // The operation ended somewhere before the only poll.
  models.emplace_back(20, ObservedDuration{.by = absl::Hours(1)});

  const std::vector<LearnedDelaysOptions> targets = {
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
      {.max_relative_lateness = kInfinity},
      {.max_relative_lateness = 1e300},
      {.max_relative_lateness = 0.01},
      {.min_observations = 3, .exploration = 0},
      {.exploration = 0.5}};
  for (size_t m = 0; m < models.size(); ++m) {
    const auto model = std::make_shared<DurationModel>();
    for (const ObservedDuration& duration : models[m]) {
      model->Record("a", duration);
    }
    for (size_t t = 0; t < targets.size(); ++t) {
      SCOPED_TRACE(absl::StrCat("model ", m, ", target ", t));
      const LearnedSchedule schedule =
          Learned(model, targets[t])->Schedule("a");
      EXPECT_THAT(schedule.weight, AllOf(Ge(0), Le(1)));
      if (schedule.weight == 0) continue;
      EXPECT_THAT(schedule.polls, Not(IsEmpty()));
      absl::Duration last = absl::ZeroDuration();
      for (const absl::Duration poll : schedule.polls) {
        ASSERT_GE(poll, last);
        ASSERT_LT(poll, absl::InfiniteDuration());
        last = poll;
      }
      EXPECT_TRUE(std::isfinite(schedule.expected_polls));
      EXPECT_GE(schedule.expected_polls, 1);
      EXPECT_GE(schedule.expected_lateness, absl::ZeroDuration());
      EXPECT_LT(schedule.expected_lateness, absl::InfiniteDuration());
      EXPECT_TRUE(std::isfinite(schedule.seconds_of_delay_worth_one_poll));
      EXPECT_GT(schedule.seconds_of_delay_worth_one_poll, 0);
      if (targets[t].seconds_of_delay_worth_one_poll.has_value()) {
        EXPECT_DOUBLE_EQ(schedule.seconds_of_delay_worth_one_poll,
                         *targets[t].seconds_of_delay_worth_one_poll);
      }
      EXPECT_THAT(schedule.distribution, Not(IsEmpty()));
      LearnedSchedule::Point before{absl::ZeroDuration(), 0};
      for (const LearnedSchedule::Point& point : schedule.distribution) {
        ASSERT_GE(point.time, before.time);
        ASSERT_GE(point.probability, before.probability);
        ASSERT_LE(point.probability, 1);
        before = point;
      }
    }
  }
}

TEST(LearnedScheduleHeaderTest, SmallLimitOfLatenessTakesFiniteMemory) {
  for (const double limit : {1e-4, 1e-9, 1e-300}) {
    const auto model = std::make_shared<DurationModel>();
    Fill(*model, "a", 60, 20);
    const auto learned = Learned(model, {.max_relative_lateness = limit});
    EXPECT_LE(learned->Schedule("a").polls.size(), 1'000'000) << limit;
  }
}

TEST(LearnedScheduleHeaderTest, IsThatOfTheModelAsItIsNow) {
  const auto model = std::make_shared<DurationModel>(
      DurationModelOptions{.max_operations = 1});
  const auto learned = Learned(model);
  Fill(*model, "a", 3600, 10);
  EXPECT_GT(learned->Schedule("a").polls.back(), absl::Minutes(30));
  Fill(*model, "b", 1, 1);
  EXPECT_EQ(learned->Schedule("a").weight, 0);
  // The same number as before, so the count does not show a difference.
  Fill(*model, "a", 5, 10);
  EXPECT_LT(learned->Schedule("a").polls.front(), absl::Seconds(30));
  EXPECT_LT(learned->Schedule("a").expected_lateness, absl::Seconds(10));
}

TEST(LearnedScheduleHeaderTest, WithoutRecordingTheModelStaysAsItIs) {
  const auto model = std::make_shared<DurationModel>();
  Fill(*model, "a", 60, 20);
  const auto learned = Learned(model, {.expected_polls = 5});
  const auto played = learned->WithoutRecording();
  EXPECT_EQ(&played->model(), model.get());
  EXPECT_EQ(&learned->model(), model.get());
  EXPECT_EQ(played->options().expected_polls, 5);
  EXPECT_EQ(played->Schedule("a").polls, learned->Schedule("a").polls);
  const std::string before = model->ToText();
  int64_t attempts[2] = {};
  for (const bool records : {false, true}) {
    SimulatedClock clock;
    Waiter wait([&] { return clock.Elapsed() >= absl::Minutes(1); },
                {.operation = "a",
                 .timeout = absl::Hours(1),
                 .delay_source = records ? learned : played,
                 .hooks = {.seed = 7},
                 .clock = &clock});
    attempts[records ? 1 : 0] = wait.Wait().report().attempts;
    EXPECT_EQ(model->ToText() == before, !records);
  }
  EXPECT_EQ(attempts[0], attempts[1]);
}

// ---------------------------------------------------------------------------
// Models.

TEST(DurationModelHeaderTest, InfinitePartsAreMovedIntoTheRange) {
  constexpr double kLongest = 365'000 * 86'400.0;
  DurationModel model;
  model.Record("a", {.after = -absl::InfiniteDuration(),
                     .by = -absl::InfiniteDuration()});
  model.Record("a",
               {.after = absl::InfiniteDuration(), .by = absl::Seconds(1)});
  model.Record(
      "a", {.after = absl::Nanoseconds(1) / 4, .by = absl::Nanoseconds(1) / 2});
  const std::vector<ObservedDuration> kept = model.Durations("a");
  ASSERT_THAT(kept, SizeIs(3));
  EXPECT_EQ(kept[0].after, absl::Nanoseconds(1));
  EXPECT_EQ(kept[0].by, absl::Nanoseconds(1));
  EXPECT_NEAR(absl::ToDoubleSeconds(kept[1].after), kLongest, kLongest * 1e-2);
  EXPECT_NEAR(absl::ToDoubleSeconds(kept[1].by), kLongest, kLongest * 1e-2);
  EXPECT_GE(kept[1].by, kept[1].after);
  EXPECT_EQ(kept[2].after, absl::Nanoseconds(1));
  EXPECT_EQ(kept[2].by, absl::Nanoseconds(1));
}

TEST(DurationModelHeaderTest, MergedDurationsReplaceAndForgetAsRecordedOnes) {
  std::string text = kHeader;
  for (int i = 1; i <= 200; ++i) absl::StrAppend(&text, i, "\t", i, "\ta\t.\n");
  DurationModel model({.max_operations = 2});
  Fill(model, "b", 1, 1);
  Fill(model, "c", 1, 1);
  EXPECT_EQ(model.Merge(text), absl::OkStatus());
  EXPECT_THAT(model.Operations(), ElementsAre("a", "c"));
  EXPECT_EQ(model.forgotten_operations(), 1);
  ASSERT_THAT(model.Durations("a"), SizeIs(128));
  EXPECT_EQ(model.Durations("a").front().by, absl::Seconds(73));
}

TEST(DurationModelHeaderTest, ThousandOperationsAreKeptByDefault) {
  DurationModel model;
  for (int i = 0; i < 1005; ++i) Fill(model, absl::StrCat(i), 1, 1);
  EXPECT_THAT(model.Operations(), SizeIs(1000));
  EXPECT_EQ(model.forgotten_operations(), 5);
  EXPECT_THAT(model.Durations("4"), IsEmpty());
  EXPECT_THAT(model.Durations("5"), SizeIs(1));
}

TEST(DurationModelHeaderTest, TextsWithoutTheirFirstLinesMayBeJoined) {
  DurationModel one;
  Fill(one, "a", 1, 2);
  DurationModel two;
  Fill(two, "a", 2, 1);
  Fill(two, "b", 3, 1);
  DurationModel both;
  EXPECT_EQ(both.Merge(absl::StrCat(one.ToText(),
                                    two.ToText().substr(sizeof(kHeader) - 1))),
            absl::OkStatus());
  EXPECT_THAT(both.Durations("a"), SizeIs(3));
  EXPECT_THAT(both.Durations("b"), SizeIs(1));
}

TEST(DurationModelHeaderTest, NumberOfDamagedLinesIsAddedAndMayBeNull) {
  const std::string text = absl::StrCat(kHeader, "1\t1\n2\t2\ta\t.\n3");
  DurationModel model;
  int64_t damaged = 40;
  EXPECT_EQ(model.Merge(text, &damaged), absl::OkStatus());
  EXPECT_EQ(damaged, 42);
  EXPECT_EQ(model.Merge(text), absl::OkStatus());
  EXPECT_THAT(model.Durations("a"), SizeIs(2));
  EXPECT_FALSE(model.Merge("waiter durations 9\nx\n", &damaged).ok());
  EXPECT_FALSE(model.Merge("x\ny\n", &damaged).ok());
  EXPECT_EQ(damaged, 42);
}

TEST(DurationModelHeaderTest, ModelTakesItsOwnText) {
  DurationModel model;
  Fill(model, "a", 1, 3);
  EXPECT_EQ(model.Merge(model.ToText()), absl::OkStatus());
  EXPECT_THAT(model.Durations("a"), SizeIs(6));
}

TEST(DurationModelHeaderTest, EmptyModelIsTheFirstLine) {
  DurationModel model;
  EXPECT_EQ(model.ToText(), kHeader);
  EXPECT_EQ(model.Merge(kHeader), absl::OkStatus());
  EXPECT_THAT(model.Operations(), IsEmpty());
}

TEST(DurationModelHeaderTest, RecorderGetsWhatRecordGot) {
  DurationModel model;
  std::vector<ObservedDuration> seen;
  model.SetRecorder([&](std::string_view, const ObservedDuration& duration) {
    seen.push_back(duration);
  });
  model.Record("a", {.after = absl::Seconds(9), .by = absl::Seconds(-3)});
  model.Record("a", {.after = absl::InfiniteDuration()});
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[0].after, absl::Seconds(9));
  EXPECT_EQ(seen[0].by, absl::Seconds(-3));
  EXPECT_EQ(seen[1].after, absl::InfiniteDuration());
  EXPECT_EQ(seen[1].by, absl::InfiniteDuration());
}

// ---------------------------------------------------------------------------
// Waits of every kind.

class LearnedWaitHeaderTest : public testing::Test {
 protected:
  WaitOptions Options() {
    return {.operation = "create",
            .timeout = absl::Minutes(10),
            .delay_source = learned_,
            .hooks = {.seed = 1},
            .clock = &clock_};
  }

  std::vector<ObservedDuration> Recorded() const {
    return model_->Durations("create");
  }

  // Fills the model with durations of a minute, so that the next poll is late.
  void Learn() {
    Fill(*model_, "create", 60, 20);
    known_ = 20;
  }

  // Returns the only duration that was recorded since `Learn`.
  ObservedDuration Last() const {
    EXPECT_THAT(Recorded(), SizeIs(known_ + 1));
    return Recorded().empty() ? ObservedDuration() : Recorded().back();
  }

  size_t known_ = 0;
  SimulatedClock clock_;
  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
  std::shared_ptr<LearnedDelays> learned_ = Learned(model_);
};

TEST_F(LearnedWaitHeaderTest, WaitWithoutAnOperationIsRecordedUnderNoName) {
  WaitOptions options = Options();
  options.operation = "";
  Waiter wait([&] { return clock_.Elapsed() >= absl::Minutes(1); }, options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_THAT(model_->Durations(""), SizeIs(1));
}

TEST_F(LearnedWaitHeaderTest, WaitThatRunsOutOfAttemptsIsAtLeastThatLong) {
  Learn();
  WaitOptions options = Options();
  options.max_attempts = 2;
  Waiter wait([] { return false; }, options);
  const WaitResult<> result = wait.Wait();
  EXPECT_EQ(result.reason(), StopReason::kAttempts);
  EXPECT_EQ(result.report().attempts, 2);
  EXPECT_EQ(Last().by, absl::InfiniteDuration());
  EXPECT_NEAR(absl::FDivDuration(Last().after, clock_.Elapsed()), 1, 1e-6);
}

// Learned delays that a function changes.
class ChangedDelays : public DelaySource {
 public:
  using Change = std::function<std::optional<absl::Duration>(
      const DelayRequest& request, absl::Duration learned)>;

  ChangedDelays(std::shared_ptr<DelaySource> learned, Change change)
      : learned_(std::move(learned)), change_(std::move(change)) {}

  std::shared_ptr<DelaySource> ForOperation(std::string_view operation,
                                            Clock& clock) override {
    return std::make_shared<ChangedDelays>(
        learned_->ForOperation(operation, clock), change_);
  }
  std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                          absl::BitGenRef gen) override {
    return change_(request, learned_->NextDelay(request, gen).value());
  }
  bool records_durations() const override { return true; }
  void RecordDuration(const ObservedDuration& duration,
                      MonotonicTime now) override {
    learned_->RecordDuration(duration, now);
  }

 private:
  const std::shared_ptr<DelaySource> learned_;
  const Change change_;
};

TEST_F(LearnedWaitHeaderTest, AnotherSourceMayAskForLearnedDelays) {
  Learn();
  WaitOptions options = Options();
  std::vector<absl::Duration> asked_for;
  options.delay_source = std::make_shared<ChangedDelays>(
      learned_, [&](const DelayRequest&, absl::Duration learned) {
        asked_for.push_back(learned);
        return absl::Seconds(7);
      });
  std::vector<absl::Duration> polls;
  Waiter wait(
      [&] {
        polls.push_back(clock_.Elapsed());
        return clock_.Elapsed() >= absl::Seconds(20);
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_THAT(polls, ElementsAre(absl::ZeroDuration(), absl::Seconds(7),
                                 absl::Seconds(14), absl::Seconds(21)));
  ASSERT_THAT(asked_for, SizeIs(3));
  EXPECT_GT(asked_for[0], absl::Seconds(10));
  EXPECT_EQ(Last().after, absl::Seconds(14));
  EXPECT_EQ(Last().by, absl::Seconds(21));
}

TEST_F(LearnedWaitHeaderTest, SourceThatEndsTheWaitLeavesTheLowerBound) {
  Learn();
  WaitOptions options = Options();
  options.delay_source = std::make_shared<ChangedDelays>(
      learned_,
      [](const DelayRequest& request,
         absl::Duration /*learned*/) -> std::optional<absl::Duration> {
        if (request.attempt == 2) return std::nullopt;
        return absl::Seconds(16);
      });
  Waiter wait([] { return false; }, options);
  EXPECT_EQ(wait.Wait().reason(), StopReason::kDelaySource);
  EXPECT_EQ(Last().after, absl::Seconds(16));
  EXPECT_EQ(Last().by, absl::InfiniteDuration());
}

TEST_F(LearnedWaitHeaderTest, StatusFunctionThatThrowsLeavesTheLowerBound) {
  Learn();
  int polls = 0;
  Waiter wait(
      [&]() -> bool {
        if (++polls == 3) throw std::runtime_error("no connection");
        return false;
      },
      Options());
  EXPECT_THROW((void)wait.Wait(), std::runtime_error);
  EXPECT_GT(Last().after, absl::Seconds(1));
  EXPECT_LE(Last().after, clock_.Elapsed());
  EXPECT_EQ(Last().by, absl::InfiniteDuration());
  // The waiter can be used again.
  polls = 10;
  const absl::Duration start = clock_.Elapsed();
  Waiter again([&] { return clock_.Elapsed() >= start + absl::Minutes(1); },
               Options());
  EXPECT_TRUE(again.Wait().ok());
  EXPECT_GE(Recorded().back().by, absl::Minutes(1) * 0.999);
}

TEST_F(LearnedWaitHeaderTest, EngineWhoseFunctionThrowsLeavesTheLowerBound) {
  Learn();
  WaitEngine engine({.threads = 0, .clock = &clock_});
  int polls = 0;
  int failed = 0;
  engine
      .Start(Waiter(
                 [&]() -> bool {
                   if (++polls == 3) throw std::runtime_error("");
                   return false;
                 },
                 Options()),
             [&](const WaitResult<>& result) {
               if (result.report().exception != nullptr) ++failed;
             })
      .Detach();
  engine.Run();
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(Last().by, absl::InfiniteDuration());
}

TEST_F(LearnedWaitHeaderTest, FirstPollDelayIsKeptAndCountsAsTime) {
  Learn();
  WaitOptions options = Options();
  options.polls.first_delay = absl::Seconds(40);
  std::vector<absl::Duration> polls;
  Waiter wait(
      [&] {
        polls.push_back(clock_.Elapsed());
        return clock_.Elapsed() >= absl::Seconds(60);
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_EQ(polls[0], absl::Seconds(40));
  EXPECT_GE(Last().after, absl::Seconds(40) * (1 - 1e-6));
  EXPECT_GE(Last().by, absl::Seconds(60) * (1 - 1e-6));
  EXPECT_LE(Last().by, absl::Seconds(81));
}

TEST_F(LearnedWaitHeaderTest, HeldSuccessEndedAtItsFirstPoll) {
  Learn();
  WaitOptions options = Options();
  options.confirm.hold_for = absl::Minutes(2);
  absl::Duration found = absl::ZeroDuration();
  Waiter wait(
      [&] {
        const bool done = clock_.Elapsed() >= absl::Seconds(60);
        if (done && found == absl::ZeroDuration()) found = clock_.Elapsed();
        return done;
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_GE(clock_.Elapsed(), found + absl::Minutes(2));
  EXPECT_NEAR(absl::FDivDuration(Last().by, found), 1, 1e-6);
}

TEST_F(LearnedWaitHeaderTest, PollNowCutsALearnedSleepShort) {
  Learn();
  WaitEngine engine({.threads = 0, .clock = &clock_});
  std::vector<absl::Duration> polls;
  bool done = false;
  WaitHandle wait = engine.Start(Waiter(
                                     [&] {
                                       polls.push_back(clock_.Elapsed());
                                       return done;
                                     },
                                     Options()),
                                 [](const WaitResult<>&) {});
  engine.RunDue();
  ASSERT_THAT(polls, SizeIs(1));
  // This is well before the first poll that the model wants.
  clock_.AdvanceTime(absl::Seconds(2));
  engine.RunDue();
  ASSERT_THAT(polls, SizeIs(1));
  wait.PollNow();
  engine.RunDue();
  ASSERT_THAT(polls, SizeIs(2));
  EXPECT_LE(polls[1], absl::Seconds(2.01));
  clock_.AdvanceTime(absl::Seconds(1));
  done = true;
  wait.PollNow();
  engine.RunDue();
  EXPECT_FALSE(wait.pending());
  EXPECT_NEAR(absl::ToDoubleSeconds(Last().after), 2, 0.02);
  EXPECT_NEAR(absl::ToDoubleSeconds(Last().by), 3, 0.02);
}

TEST_F(LearnedWaitHeaderTest,
       AbandonedAndCancelledWaitsCountAsAtLeastThatLong) {
  Learn();
  WaitEngine engine({.threads = 0, .clock = &clock_});
  for (const bool cancels : {true, false}) {
    std::optional<WaitHandle> wait(engine.Start(
        Waiter([] { return false; }, Options()), [](const WaitResult<>&) {}));
    engine.RunDue();
    for (int i = 0; i < 40; ++i) {
      clock_.AdvanceTime(absl::Seconds(1));
      engine.RunDue();
    }
    if (cancels) wait->Cancel();
    if (!cancels) wait.reset();
    engine.RunDue();
  }
  ASSERT_THAT(Recorded(), SizeIs(22));
  for (size_t i = 20; i < 22; ++i) {
    EXPECT_GT(Recorded()[i].after, absl::Seconds(10));
    EXPECT_EQ(Recorded()[i].by, absl::InfiniteDuration());
  }
}

TEST_F(LearnedWaitHeaderTest, AsyncPollThatNeverAnswersTeachesNoEnd) {
  Learn();
  WaitEngine engine({.threads = 0, .clock = &clock_});
  int polls = 0;
  engine
      .Start(AsyncWaiter(
                 [&](const PollCompletion<>& done) {
                   if (++polls < 3) done(PollStatus::kNotReady);
                 },
                 Options()),
             [](const WaitResult<>& result) {
               EXPECT_EQ(result.reason(), StopReason::kDeadline);
             })
      .Detach();
  engine.Run();
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(Last().by, absl::InfiniteDuration());
  EXPECT_GT(Last().after, absl::Seconds(1));
  EXPECT_LT(Last().after, absl::Minutes(9));
}

TEST_F(LearnedWaitHeaderTest, KeysOfABatchLearnAsWaits) {
  WaitEngine engine({.threads = 0, .clock = &clock_});
  int calls = 0;
  BatchPoller<std::string> poller(
      engine,
      [&](absl::Span<const std::string> keys)
          -> absl::StatusOr<BatchAnswer<std::string>> {
        ++calls;
        BatchAnswer<std::string> answer;
        for (const std::string& key : keys) {
          const double end = key == "a" ? 60 : 65;
          if (clock_.Elapsed() >= absl::Seconds(end)) {
            answer.emplace(key, PollStatus::kSuccess);
          }
        }
        return answer;
      },
      {.window = absl::Milliseconds(200)});
  Learn();
  std::vector<WaitHandle> waits;
  int succeeded = 0;
  const auto policy = WaitPolicy::Make(Options());
  for (const char* key : {"a", "b"}) {
    waits.push_back(poller.Start(key, policy, [&](const WaitResult<>& result) {
      if (result.ok()) ++succeeded;
    }));
  }
  engine.Run();
  EXPECT_EQ(succeeded, 2);
  ASSERT_THAT(Recorded(), SizeIs(22));
  for (size_t i = 20; i < 22; ++i) {
    EXPECT_GT(Recorded()[i].after, absl::Seconds(10));
    EXPECT_THAT(absl::ToDoubleSeconds(Recorded()[i].by),
                AllOf(Ge(59.9), Le(131)));
  }
}

TEST_F(LearnedWaitHeaderTest, WaitThatGoesOnInAnEngineIsRecordedOnceMore) {
  Learn();
  std::optional<WaitToken> token;
  WaitOptions options = Options();
  options.hooks.on_checkpoint = [&](const WaitToken& saved) { token = saved; };
  {
    WaitEngine engine({.threads = 0, .clock = &clock_});
    const WaitHandle wait = engine.Start(Waiter([] { return false; }, options),
                                         [](const WaitResult<>&) {});
    engine.RunDue();
    for (int i = 0; i < 40; ++i) {
      clock_.AdvanceTime(absl::Seconds(1));
      engine.RunDue();
    }
  }
  ASSERT_TRUE(token.has_value());
  const size_t before = Recorded().size();
  WaitEngine engine({.threads = 0, .clock = &clock_});
  bool succeeded = false;
  engine
      .Start(Waiter([&] { return clock_.Elapsed() >= absl::Seconds(60); },
                    Options()),
             [&](const WaitResult<>& result) { succeeded = result.ok(); },
             {.resume = *token})
      .Detach();
  engine.Run();
  EXPECT_TRUE(succeeded);
  ASSERT_THAT(Recorded(), SizeIs(before + 1));
  EXPECT_GE(Recorded().back().by, absl::Seconds(59.99));
  EXPECT_LE(Recorded().back().by, absl::Seconds(121));
  EXPECT_GE(Recorded().back().after, absl::Seconds(10));
}

TEST_F(LearnedWaitHeaderTest, ForgottenOperationIsLearnedAnew) {
  model_ = std::make_shared<DurationModel>(
      DurationModelOptions{.max_operations = 1});
  learned_ = Learned(model_, {.exploration = 0});
  Fill(*model_, "create", 300, 10);
  const auto policy = WaitPolicy::Make(Options());
  // Returns the first delay of a wait.
  const auto wait_for = [&](absl::Duration end) {
    const absl::Duration start = clock_.Elapsed();
    int polls = 0;
    absl::Duration second = absl::ZeroDuration();
    Waiter wait(
        [&] {
          if (++polls == 2) second = clock_.Elapsed() - start;
          return clock_.Elapsed() >= start + end;
        },
        policy);
    EXPECT_TRUE(wait.Wait().ok());
    return second;
  };
  EXPECT_GT(wait_for(absl::Minutes(5)), absl::Seconds(20));
  Fill(*model_, "other", 1, 1);
  // With the next wait's duration, the number is the same as before, so the
  // count does not show a difference.
  Fill(*model_, "create", 1, 10);
  wait_for(absl::Seconds(1));
  EXPECT_LT(wait_for(absl::Seconds(1)), absl::Seconds(10));
}

TEST_F(LearnedWaitHeaderTest, MergedDurationsCountOnceAWaitHasEnded) {
  const auto policy = WaitPolicy::Make(Options());
  DurationModel other;
  Fill(other, "create", 60, 20);
  EXPECT_EQ(model_->Merge(other.ToText()), absl::OkStatus());
  int polls = 0;
  for (int i = 0; i < 2; ++i) {
    polls = 0;
    const absl::Duration end = clock_.Elapsed() + absl::Minutes(1);
    Waiter wait(
        [&] {
          ++polls;
          return clock_.Elapsed() >= end;
        },
        policy);
    EXPECT_TRUE(wait.Wait().ok());
  }
  EXPECT_LE(polls, 5);
}

TEST_F(LearnedWaitHeaderTest, LaterDelaysHaveWhatWasMergedBefore) {
  // The delays of this operation exist, and are kept.
  (void)WaitPolicy::Make(Options());
  Learn();
  learned_ = Learned(model_);
  int polls = 0;
  Waiter wait(
      [&] {
        ++polls;
        return clock_.Elapsed() >= absl::Minutes(1);
      },
      Options());
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_LE(polls, 5);
}

TEST_F(LearnedWaitHeaderTest, EveryCurveTakesPartWithoutAnOverflow) {
  const absl::Duration forever = absl::InfiniteDuration();
  const std::vector<BackoffOptions> curves = {
      {.initial_delay = absl::ZeroDuration(),
       .max_delay = absl::ZeroDuration()},
      {.initial_delay = absl::ZeroDuration(), .max_delay = forever},
      {.initial_delay = absl::Seconds(1), .max_delay = forever},
      {.initial_delay = absl::Seconds(1),
       .max_delay = forever,
       .multiplier = 1e300},
      {.initial_delay = absl::Nanoseconds(1),
       .max_delay = forever,
       .multiplier = 1,
       .jitter = Jitter::Full()},
      {.initial_delay = absl::Hours(24 * 365'000), .max_delay = forever},
      {.initial_delay = absl::Seconds(1),
       .max_delay = forever,
       .jitter = Jitter::Decorrelated()}};
  for (size_t curve = 0; curve < curves.size(); ++curve) {
    for (const double end : {0.5, 60.0, 300.0}) {
      for (const int count : {0, 1, 2, 4, 7, 8, 128}) {
        SCOPED_TRACE(absl::StrCat("backoff ", curve, ", ", end, " s, ", count));
        const auto model = std::make_shared<DurationModel>();
        Fill(*model, "create", 60, count);
        SimulatedClock clock;
        WaitOptions options = Options();
        options.delay_source = Learned(model);
        options.clock = &clock;
        options.backoff = curves[curve];
        options.timeout = absl::Minutes(10);
        int64_t polls = 0;
        Waiter wait(
            [&] {
              ++polls;
              clock.AdvanceTime(absl::Milliseconds(100));
              return clock.Elapsed() >= absl::Seconds(end);
            },
            options);
        const WaitResult<> result = wait.Wait();
        EXPECT_TRUE(result.ok()) << result.status();
        EXPECT_LE(polls, 6001);
        EXPECT_LE(clock.Elapsed(), absl::Seconds(601));
      }
    }
  }
}

TEST_F(LearnedWaitHeaderTest, SmallestLimitOfLatenessKeepsTheMinDelay) {
  Fill(*model_, "create", 60, 20);
  learned_ = Learned(model_, {.max_relative_lateness = 1e-300});
  WaitOptions options = Options();
  options.backoff.min_delay = absl::Seconds(1);
  int polls = 0;
  Waiter wait(
      [&] {
        ++polls;
        return clock_.Elapsed() >= absl::Minutes(1);
      },
      options);
  EXPECT_TRUE(wait.Wait().ok());
  EXPECT_LE(polls, 62);
}

TEST_F(LearnedWaitHeaderTest, OnlyTheWaitNeedsDelaysAndModel) {
  Learn();
  std::weak_ptr<DurationModel> seen = model_;
  std::weak_ptr<LearnedDelays> delays = learned_;
  {
    Waiter wait([&] { return clock_.Elapsed() >= absl::Minutes(1); },
                Options());
    learned_ = nullptr;
    model_ = nullptr;
    EXPECT_TRUE(wait.Wait().ok());
    ASSERT_FALSE(seen.expired());
    EXPECT_THAT(seen.lock()->Durations("create"), SizeIs(21));
  }
  EXPECT_TRUE(delays.expired());
  EXPECT_TRUE(seen.expired());
}

TEST_F(LearnedWaitHeaderTest, TwoDelaysOfOneModelHaveTheirOwnTargets) {
  Learn();
  const auto few = Learned(model_, {.expected_polls = 3});
  const auto many = Learned(model_, {.expected_polls = 20});
  EXPECT_LT(few->Schedule("create").polls.size(),
            many->Schedule("create").polls.size());
}

// ---------------------------------------------------------------------------
// Files.

class DurationFileHeaderTest : public testing::Test {
 protected:
  DurationFileHeaderTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~DurationFileHeaderTest() override { std::filesystem::remove_all(folder_); }

  std::string Contents(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string Contents() const { return Contents(path_); }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  std::unique_ptr<DurationFile> Open(
      const std::string& path, const std::shared_ptr<DurationModel>& model) {
    auto file = DurationFile::Open(path, model);
    EXPECT_EQ(file.status(), absl::OkStatus());
    return file.ok() ? *std::move(file) : nullptr;
  }

  // Returns the durations that another process reads.
  std::vector<ObservedDuration> Saved(std::string_view operation) {
    DurationModel read;
    EXPECT_EQ(DurationFile::Read(path_, read), absl::OkStatus());
    return read.Durations(operation);
  }

  const std::string folder_ =
      absl::StrCat(testing::TempDir(), "learned_header_", getpid());
  const std::string path_ = folder_ + "/durations";
  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
};

TEST_F(DurationFileHeaderTest, FoldersAndDevicesAreRefusedWithTheirPath) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path :
       {folder_, pipe, std::string("/dev/null"), std::string("/dev/zero")}) {
    EXPECT_THAT(DurationFile::Open(path, model_).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
    EXPECT_THAT(DurationFile::Read(path, *model_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
}

TEST_F(DurationFileHeaderTest, ModelThatIsNullIsRefused) {
  EXPECT_THAT(DurationFile::Open(path_, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("null")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DurationFileHeaderTest, FileWithoutPermissionIsAnErrorWithThePath) {
  Write(kHeader);
  ASSERT_EQ(chmod(path_.c_str(), 0), 0);
  if (access(path_.c_str(), R_OK) == 0) GTEST_SKIP() << "nothing is forbidden";
  EXPECT_THAT(DurationFile::Open(path_, model_).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path_)));
  EXPECT_THAT(DurationFile::Read(path_, *model_),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path_)));
}

TEST_F(DurationFileHeaderTest, ReadRefusesForeignAndNewerFiles) {
  Write("waiter durations 2\n1\t1\ta\t.\n");
  EXPECT_THAT(
      DurationFile::Read(path_, *model_),
      StatusIs(absl::StatusCode::kFailedPrecondition, StartsWith(path_)));
  Write("{}\n");
  EXPECT_THAT(DurationFile::Read(path_, *model_),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(path_)));
  EXPECT_THAT(model_->Operations(), IsEmpty());
  EXPECT_EQ(Contents(), "{}\n");
}

TEST_F(DurationFileHeaderTest, EmptyFileBecomesAListOfDurations) {
  Write("");
  const auto file = Open(path_, model_);
  EXPECT_EQ(Contents(), kHeader);
}

TEST_F(DurationFileHeaderTest, RefusedFileLeavesTheRecorderAndTheModel) {
  Write("something else\n");
  int recorded = 0;
  model_->SetRecorder([&](auto, const auto&) { ++recorded; });
  EXPECT_FALSE(DurationFile::Open(path_, model_).ok());
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(recorded, 1);
}

TEST_F(DurationFileHeaderTest, TakesThePlaceOfTheRecorder) {
  int recorded = 0;
  model_->SetRecorder([&](auto, const auto&) { ++recorded; });
  auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(recorded, 0);
  EXPECT_THAT(Saved("a"), SizeIs(1));
  file.reset();
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(recorded, 0);
  EXPECT_THAT(Saved("a"), SizeIs(1));
}

TEST_F(DurationFileHeaderTest, FileThatTakesThePlaceOfAnotherGoesOn) {
  auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 1);
  const std::string second = folder_ + "/second";
  file = Open(second, model_);
  Fill(*model_, "a", 2, 1);
  EXPECT_EQ(Contents(), absl::StrCat(kHeader, "1\t1\ta\t.\n"));
  EXPECT_THAT(Contents(second), HasSubstr("2\t2\ta\t.\n"));
  EXPECT_EQ(file->status(), absl::OkStatus());
}

TEST_F(DurationFileHeaderTest, OwnRecorderSetLaterOutlivesTheFile) {
  auto file = Open(path_, model_);
  int recorded = 0;
  model_->SetRecorder([&](auto, const auto&) { ++recorded; });
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(Contents(), kHeader);
  file.reset();
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(recorded, 2);
}

TEST_F(DurationFileHeaderTest, SyncAddsEveryDurationOnce) {
  const auto file = Open(path_, model_);
  const auto other = std::make_shared<DurationModel>();
  const auto other_file = Open(path_, other);
  Fill(*model_, "a", 1, 3);
  Fill(*other, "a", 2, 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(file->Sync(), absl::OkStatus());
    EXPECT_EQ(other_file->Sync(), absl::OkStatus());
  }
  EXPECT_THAT(model_->Durations("a"), SizeIs(5));
  EXPECT_THAT(other->Durations("a"), SizeIs(5));
  EXPECT_THAT(Saved("a"), SizeIs(5));
}

TEST_F(DurationFileHeaderTest, RecordingAddsWhatOthersHaveWritten) {
  const auto file = Open(path_, model_);
  std::ofstream(path_, std::ios::app) << "5\t5\tb\t.\n";
  Fill(*model_, "a", 1, 1);
  EXPECT_THAT(model_->Durations("b"), SizeIs(1));
}

TEST_F(DurationFileHeaderTest, DamagedLinesOfOthersAreCounted) {
  const auto file = Open(path_, model_);
  std::ofstream(path_, std::ios::app) << "5\t5\n6\t6\ta\t.\n";
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_EQ(file->damaged_lines(), 1);
  EXPECT_THAT(model_->Durations("a"), SizeIs(1));
  EXPECT_EQ(file->status(), absl::OkStatus());
}

TEST_F(DurationFileHeaderTest, AbsurdDurationsAndNamesAreReadBackWhole) {
  const std::string name(100'000, '\n');
  const auto file = Open(path_, model_);
  model_->Record(name, Exactly(-1));
  model_->Record(name, {.after = absl::InfiniteDuration()});
  model_->Record(name, {.after = absl::Seconds(9), .by = absl::Seconds(3)});
  model_->Record("", Exactly(1e-9));
  EXPECT_EQ(file->status(), absl::OkStatus());
  DurationModel read;
  EXPECT_EQ(DurationFile::Read(path_, read), absl::OkStatus());
  EXPECT_EQ(read.ToText(), model_->ToText());
}

TEST_F(DurationFileHeaderTest, TruncatedFileIsFilledAgain) {
  const auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 3);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  Fill(*model_, "a", 2, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_EQ(Contents(), absl::StrCat(kHeader, "2\t2\ta\t.\n"));
  EXPECT_THAT(model_->Durations("a"), SizeIs(4));
}

TEST_F(DurationFileHeaderTest, LineThatIsCutUnderItIsClosed) {
  const auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 3);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3);
  Fill(*model_, "a", 2, 2);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_THAT(Contents(), HasSubstr("\n2\t2\ta\t.\n2\t2\ta\t.\n"));
  EXPECT_THAT(Saved("a"), SizeIs(4));
  EXPECT_THAT(model_->Durations("a"), SizeIs(5));
  EXPECT_EQ(file->damaged_lines(), 1);
}

TEST_F(DurationFileHeaderTest, FirstLineThatIsCutUnderItSpoilsNothing) {
  const auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 3);
  std::filesystem::resize_file(path_, 5);
  Fill(*model_, "a", 2, 2);
  EXPECT_THAT(model_->Durations("a"), SizeIs(5));
  // Either the file is filled again, or the error says that it is not a list.
  if (file->status().ok()) {
    EXPECT_THAT(Saved("a"), SizeIs(2));
  } else {
    EXPECT_THAT(file->status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
  }
}

TEST_F(DurationFileHeaderTest, FileThatReplacesItIsReadAndWritten) {
  const auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 3);
  const std::string other = folder_ + "/other";
  std::ofstream(other) << kHeader << "7\t7\tb\t.\n";
  std::filesystem::rename(other, path_);
  Fill(*model_, "a", 2, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_THAT(model_->Durations("b"), SizeIs(1));
  EXPECT_THAT(model_->Durations("a"), SizeIs(4));
  EXPECT_EQ(Contents(), absl::StrCat(kHeader, "7\t7\tb\t.\n2\t2\ta\t.\n"));
}

TEST_F(DurationFileHeaderTest, FileThatAnotherShortenedBringsAllItsNews) {
  const auto file = Open(path_, model_);
  const auto other = std::make_shared<DurationModel>();
  const auto other_file = Open(path_, other);
  Fill(*model_, "a", 1, 3);
  for (int i = 0; i < 1100; ++i) Fill(*other, "b", 2, 1);
  ASSERT_LT(std::filesystem::file_size(path_), 5000);
  Fill(*other, "c", 3, 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(file->Sync(), absl::OkStatus());
    EXPECT_THAT(model_->Durations("a"), SizeIs(3));
    EXPECT_THAT(model_->Durations("b"), SizeIs(128));
    EXPECT_THAT(model_->Durations("c"), SizeIs(2));
  }
}

TEST_F(DurationFileHeaderTest, FileThatIsRemovedAndSavedAgainIsKnown) {
  const auto file = Open(path_, model_);
  Fill(*model_, "a", 1, 3);
  const std::string contents = Contents();
  std::filesystem::remove(path_);
  Write(contents);
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_THAT(model_->Durations("a"), SizeIs(3));
  EXPECT_EQ(Contents(), contents);
}

TEST_F(DurationFileHeaderTest, ForeignFileThatReplacesItIsLeftAsItIs) {
  for (const auto& [contents, code] :
       {std::pair<std::string, absl::StatusCode>{
            "somebody's\n", absl::StatusCode::kInvalidArgument},
        {"waiter durations 3\nx\n", absl::StatusCode::kFailedPrecondition}}) {
    std::filesystem::remove(path_);
    const auto model = std::make_shared<DurationModel>();
    const auto file = Open(path_, model);
    Fill(*model, "a", 1, 3);
    const std::string other = folder_ + "/other";
    std::ofstream(other) << contents;
    std::filesystem::rename(other, path_);
    EXPECT_THAT(file->Sync(), StatusIs(code, HasSubstr(path_)));
    Fill(*model, "a", 2, 2);
    EXPECT_THAT(file->status(), StatusIs(code, HasSubstr(path_)));
    EXPECT_EQ(Contents(), contents);
    EXPECT_THAT(model->Durations("a"), SizeIs(5));
  }
}

TEST_F(DurationFileHeaderTest, FolderOrPipeThatReplacesItIsAnError) {
  for (const bool pipe : {false, true}) {
    std::filesystem::remove_all(path_);
    const auto model = std::make_shared<DurationModel>();
    const auto file = Open(path_, model);
    std::filesystem::remove(path_);
    if (pipe) {
      ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    } else {
      std::filesystem::create_directory(path_);
    }
    Fill(*model, "a", 2, 2);
    EXPECT_THAT(file->status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)))
        << pipe;
    EXPECT_THAT(model->Durations("a"), SizeIs(2));
  }
}

TEST_F(DurationFileHeaderTest, FirstErrorStays) {
  const auto file = Open(path_, model_);
  std::filesystem::remove_all(folder_);
  Fill(*model_, "a", 1, 1);
  const absl::Status first = file->status();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  std::filesystem::create_directories(path_);
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(file->status(), first);
  EXPECT_THAT(file->Sync(), Not(StatusIs(absl::StatusCode::kOk)));
}

TEST_F(DurationFileHeaderTest, FileThatBecomesReadOnlyIsWrittenOrAnError) {
  const auto file = Open(path_, model_);
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  Fill(*model_, "a", 1, 2);
  EXPECT_THAT(model_->Durations("a"), SizeIs(2));
  EXPECT_TRUE(!file->status().ok() || Saved("a").size() == 2);
}

TEST_F(DurationFileHeaderTest, SyncOfALockedFileComesBackAndLosesNothing) {
  const auto file = Open(path_, model_);
  const int other = open(path_.c_str(), O_RDWR | O_APPEND);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  (void)file->Sync();
  Fill(*model_, "a", 1, 1);
  (void)file->Sync();
  const std::string line = "5\t5\tb\t.\n";
  ASSERT_EQ(write(other, line.data(), line.size()),
            static_cast<ssize_t>(line.size()));
  flock(other, LOCK_UN);
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_THAT(model_->Durations("a"), SizeIs(1));
  EXPECT_THAT(model_->Durations("b"), SizeIs(1));
  Fill(*model_, "a", 2, 1);
  EXPECT_THAT(Saved("a"), SizeIs(2));
  EXPECT_THAT(Saved("b"), SizeIs(1));
  EXPECT_EQ(file->status(), absl::OkStatus());
  close(other);
}

TEST_F(DurationFileHeaderTest, LockedFileIsOwedWholeLinesUpToALimit) {
  const std::string name(20'000, 'x');
  auto file = Open(path_, model_);
  const int other = open(path_.c_str(), O_RDWR);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  for (int i = 1; i <= 6; ++i) model_->Record(name, Exactly(i));
  EXPECT_EQ(Contents(), kHeader);
  flock(other, LOCK_UN);
  model_->Record(name, Exactly(7));
  DurationModel read;
  int64_t damaged = 0;
  EXPECT_EQ(read.Merge(Contents(), &damaged), absl::OkStatus());
  EXPECT_EQ(damaged, 0);
  EXPECT_GE(read.Durations(name).size(), 3);
  EXPECT_LE(read.Durations(name).size(), 5);
  EXPECT_EQ(read.Durations(name).back().by, absl::Seconds(7));
  EXPECT_THAT(model_->Durations(name), SizeIs(7));
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  model_->Record(name, Exactly(8));
  file.reset();  // Returns while the file is locked.
  close(other);
}

TEST_F(DurationFileHeaderTest, OpeningAgainHasWhatWasRecordedBefore) {
  auto file = Open(path_, model_);
  Fill(*model_, "a", 3, 4);
  file.reset();
  model_ = std::make_shared<DurationModel>();
  file = Open(path_, model_);
  EXPECT_THAT(model_->Durations("a"), SizeIs(4));
  EXPECT_EQ(file->damaged_lines(), 0);
}

TEST_F(DurationFileHeaderTest, FileKeepsItsModelAlive) {
  const auto file = Open(path_, model_);
  Fill(*model_, "a", 3, 1);
  model_ = nullptr;
  std::ofstream(path_, std::ios::app) << "5\t5\tb\t.\n";
  EXPECT_EQ(file->Sync(), absl::OkStatus());
}

TEST_F(DurationFileHeaderTest, ShortenedFileKeepsItsLinkAndItsPermissions) {
  const std::string target = folder_ + "/target";
  std::filesystem::create_symlink(target, path_);
  const auto file = Open(path_, model_);
  ASSERT_EQ(chmod(target.c_str(), 0660), 0);
  for (int i = 1; i <= 1100; ++i) Fill(*model_, "a", 60, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_LT(std::filesystem::file_size(target), 5000);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_THAT(Saved("a"), SizeIs(128));
  struct stat after = {};
  ASSERT_EQ(stat(target.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 0777, 0660);
}

}  // namespace
}  // namespace waiter
