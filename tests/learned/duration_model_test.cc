// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A model of durations keeps, forgets, saves and merges them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/learned/learned_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/learned/durations.h"

namespace waiter::duration_model_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Matcher;
using ::testing::SizeIs;

constexpr char kHeader[] = "waiter durations 1\n";

// Matches a duration to a millionth, as floats keep it.
Matcher<const ObservedDuration&> Lasted(double after, double by) {
  const auto is = [](double seconds) {
    return testing::ResultOf(
        [](absl::Duration value) { return absl::ToDoubleSeconds(value); },
        testing::DoubleNear(seconds, seconds * 1e-6 + 1e-9));
  };
  return AllOf(Field(&ObservedDuration::after, is(after)),
               Field(&ObservedDuration::by, is(by)));
}

TEST(DurationModelTest, KeepsDurationsOfEachOperationInTheirOrder) {
  DurationModel model;
  model.Record("create", {.after = absl::Seconds(50), .by = absl::Minutes(1)});
  model.Record("delete", Exactly(3));
  model.Record("create", Exactly(70));
  EXPECT_THAT(model.Durations("create"),
              ElementsAre(Lasted(50, 60), Lasted(70, 70)));
  EXPECT_THAT(model.Durations("delete"), ElementsAre(Lasted(3, 3)));
  EXPECT_THAT(model.Durations("other"), IsEmpty());
  EXPECT_THAT(model.Operations(), ElementsAre("create", "delete"));
}

TEST(DurationModelTest, WaitThatEndedBeforeItsOperationHasNoUpperBound) {
  DurationModel model;
  model.Record("a", {.after = absl::Seconds(9)});
  ASSERT_THAT(model.Durations("a"), SizeIs(1));
  EXPECT_EQ(model.Durations("a")[0].by, absl::InfiniteDuration());
}

TEST(DurationModelTest, Keeps128DurationsAndForgetsTheOldest) {
  DurationModel model;
  for (int i = 1; i <= 200; ++i) model.Record("a", Exactly(i));
  const std::vector<ObservedDuration> kept = model.Durations("a");
  ASSERT_THAT(kept, SizeIs(128));
  EXPECT_THAT(kept.front(), Lasted(73, 73));
  EXPECT_THAT(kept.back(), Lasted(200, 200));
}

TEST(DurationModelTest, OneOperationTooManyForgetsTheLeastRecentlyUsed) {
  DurationModel model({.max_operations = 2});
  model.Record("a", Exactly(1));
  model.Record("b", Exactly(2));
  model.Record("a", Exactly(3));
  EXPECT_EQ(model.forgotten_operations(), 0);
  model.Record("c", Exactly(4));
  EXPECT_THAT(model.Operations(), ElementsAre("a", "c"));
  EXPECT_EQ(model.forgotten_operations(), 1);
}

TEST(DurationModelTest, ThousandOperationsAreKeptByDefault) {
  DurationModel model;
  for (int i = 0; i < 1005; ++i) model.Record(absl::StrCat(i), Exactly(1));
  EXPECT_THAT(model.Operations(), SizeIs(1000));
  EXPECT_EQ(model.forgotten_operations(), 5);
  EXPECT_THAT(model.Durations("4"), IsEmpty());
  EXPECT_THAT(model.Durations("5"), SizeIs(1));
}

TEST(DurationModelTest, FewerThanOneOperationCountAsOne) {
  DurationModel model({.max_operations = -5});
  model.Record("a", Exactly(1));
  model.Record("b", Exactly(1));
  EXPECT_THAT(model.Operations(), ElementsAre("b"));
}

TEST(DurationModelTest, AbsurdDurationsAreMovedIntoTheirRange) {
  DurationModel model;
  model.Record("a", {.after = -absl::Seconds(5), .by = -absl::Seconds(9)});
  model.Record("a",
               {.after = absl::ZeroDuration(), .by = absl::ZeroDuration()});
  model.Record("a", {.after = absl::Seconds(9), .by = absl::Seconds(3)});
  model.Record("a",
               {.after = absl::Hours(24) * 1e9, .by = absl::Hours(24) * 2e9});
  model.Record("a", {.after = absl::InfiniteDuration()});
  model.Record("a", {.after = -absl::InfiniteDuration(),
                     .by = -absl::InfiniteDuration()});
  model.Record("a",
               {.after = absl::InfiniteDuration(), .by = absl::Seconds(1)});
  model.Record(
      "a", {.after = absl::Nanoseconds(1) / 4, .by = absl::Nanoseconds(1) / 2});
  constexpr double kLongest = 365'000 * 86'400.0;
  const std::vector<ObservedDuration> kept = model.Durations("a");
  ASSERT_THAT(kept, SizeIs(8));
  EXPECT_THAT(kept[0], Lasted(1e-9, 1e-9));
  EXPECT_THAT(kept[1], Lasted(1e-9, 1e-9));
  EXPECT_THAT(kept[2], Lasted(9, 9));
  EXPECT_THAT(kept[3], Lasted(kLongest, kLongest));
  EXPECT_EQ(kept[4].by, absl::InfiniteDuration());
  EXPECT_THAT(kept[5], Lasted(1e-9, 1e-9));
  EXPECT_THAT(kept[6], Lasted(kLongest, kLongest));
  EXPECT_EQ(kept[7].after, absl::Nanoseconds(1));
  EXPECT_EQ(kept[7].by, absl::Nanoseconds(1));
}

TEST(DurationModelTest, TextOfAModelIsGolden) {
  DurationModel model;
  EXPECT_EQ(model.ToText(), kHeader);
  model.Record("create instance",
               {.after = absl::Seconds(50), .by = absl::Seconds(60.5)});
  model.Record("tab\tand\nline", {.after = absl::Seconds(9)});
  EXPECT_EQ(model.ToText(), absl::StrCat(kHeader,
                                         "50\t60.5\tcreate instance\t.\n"
                                         "9\t-\ttab\\tand\\nline\t.\n"));
}

TEST(DurationModelTest, MergedTextIsWhatWasSavedForNamesOfAnyBytes) {
  std::string name;
  for (int byte = 0; byte < 256; ++byte) {
    name += static_cast<char>(byte);
  }
  DurationModel model;
  model.Record(name, {.after = absl::Seconds(1.0 / 3), .by = absl::Hours(7)});
  model.Record("", {.after = absl::Seconds(2)});
  DurationModel other;
  EXPECT_EQ(other.Merge(model.ToText()), absl::OkStatus());
  EXPECT_EQ(other.ToText(), model.ToText());
  EXPECT_THAT(other.Durations(name), ElementsAre(Lasted(1.0 / 3, 25200)));
}

TEST(DurationModelTest, MergedDurationsReplaceAndForgetAsRecordedOnes) {
  std::string text = kHeader;
  for (int i = 1; i <= 200; ++i) absl::StrAppend(&text, i, "\t", i, "\ta\t.\n");
  DurationModel model({.max_operations = 2});
  model.Record("b", Exactly(1));
  model.Record("c", Exactly(1));
  EXPECT_EQ(model.Merge(text), absl::OkStatus());
  EXPECT_THAT(model.Operations(), ElementsAre("a", "c"));
  EXPECT_EQ(model.forgotten_operations(), 1);
  ASSERT_THAT(model.Durations("a"), SizeIs(128));
  EXPECT_THAT(model.Durations("a").front(), Lasted(73, 73));
}

TEST(DurationModelTest, TextsWithoutTheirFirstLinesMayBeJoined) {
  DurationModel model;
  model.Record("a", Exactly(1));
  DurationModel other;
  other.Record("a", Exactly(2));
  other.Record("b", Exactly(3));
  // A model also takes its own text.
  EXPECT_EQ(model.Merge(absl::StrCat(
                model.ToText(), other.ToText().substr(sizeof(kHeader) - 1))),
            absl::OkStatus());
  EXPECT_EQ(model.Merge(kHeader), absl::OkStatus());
  EXPECT_THAT(model.Durations("a"),
              ElementsAre(Lasted(1, 1), Lasted(1, 1), Lasted(2, 2)));
  EXPECT_THAT(model.Durations("b"), SizeIs(1));
}

TEST(DurationModelTest, NumberOfDamagedLinesIsAddedAndMayBeNull) {
  const std::string text = absl::StrCat(kHeader, "1\t1\n2\t2\ta\t.\n3");
  DurationModel model;
  int64_t damaged = 40;
  EXPECT_EQ(model.Merge(text, &damaged), absl::OkStatus());
  EXPECT_EQ(model.Merge(text), absl::OkStatus());
  EXPECT_FALSE(model.Merge("waiter durations 9\nx\n", &damaged).ok());
  EXPECT_EQ(damaged, 42);
  EXPECT_THAT(model.Durations("a"), SizeIs(2));
}

TEST(DurationModelTest, EveryCutLineIsLeftOutAndCounted) {
  const std::string line = "12.5\t17.25\tcreate instance\t.";
  for (size_t size = 1; size < line.size(); ++size) {
    DurationModel model;
    int64_t damaged = 0;
    EXPECT_EQ(model.Merge(
                  absl::StrCat(kHeader, line.substr(0, size), "\n1\t1\tb\t.\n"),
                  &damaged),
              absl::OkStatus());
    EXPECT_EQ(damaged, 1) << size;
    EXPECT_THAT(model.Operations(), ElementsAre("b")) << size;
  }
}

TEST(DurationModelTest, LinesThatAreNoDurationsAreLeftOutAndCounted) {
  for (const char* line :
       {"x\t2\ta\t.", "1\tx\ta\t.", "3\t2\ta\t.", "-1\t2\ta\t.", "nan\t2\ta\t.",
        "1\tnan\ta\t.", "1\tinf\ta\t.", "inf\t-\ta\t.", "0\t0\ta\t.",
        "1\t2\ta\\q\t.", "1\t2\ta\t.\t.", "1e999\t-\ta\t."}) {
    DurationModel model;
    int64_t damaged = 0;
    EXPECT_EQ(model.Merge(absl::StrCat(kHeader, line, "\n"), &damaged),
              absl::OkStatus());
    EXPECT_EQ(damaged, 1) << line;
    EXPECT_THAT(model.Operations(), IsEmpty()) << line;
  }
}

TEST(DurationModelTest, ForeignAndNewerTextIsRefusedWhole) {
  DurationModel model;
  EXPECT_THAT(model.Merge(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(model.Merge("{\"a\": 1}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is not a list of durations")));
  EXPECT_THAT(model.Merge("waiter durations 1"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      model.Merge("waiter durations 2\n1\t1\ta\t.\n"),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("of version 2; this program reads version 1")));
  EXPECT_THAT(model.Operations(), IsEmpty());
}

TEST(DurationModelTest, RecorderGetsWhatRecordGotAndNotWhatIsMerged) {
  DurationModel model;
  std::vector<std::string> seen;
  model.SetRecorder([&](std::string_view operation, const ObservedDuration& d) {
    seen.push_back(absl::StrCat(std::string(operation), " ",
                                absl::FormatDuration(d.after), " ",
                                absl::FormatDuration(d.by)));
  });
  model.Record("a", {.after = absl::Seconds(9), .by = absl::Seconds(-3)});
  model.Record("a", {.after = absl::InfiniteDuration()});
  EXPECT_EQ(model.Merge(absl::StrCat(kHeader, "1\t1\tb\t.\n")),
            absl::OkStatus());
  model.SetRecorder(nullptr);
  model.Record("c", Exactly(1));
  EXPECT_THAT(seen, ElementsAre("a 9s -3s", "a inf inf"));
}

}  // namespace
}  // namespace waiter::duration_model_test
