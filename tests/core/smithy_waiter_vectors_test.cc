// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The delays and the last poll of Smithy's waiters.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/status_matchers.h"
#include "tests/support/vectors.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/result.h"

namespace waiter::smithy_waiter_vectors_test {
namespace {

using ::testing::HasSubstr;

using SmithyWaiterVectorsTest = VectorTest<"smithy_waiter.json", /*cases=*/34>;

TEST_F(SmithyWaiterVectorsTest, Ceilings) {
  File().Describes({"source", "units"});
  const Json& defaults = File()["defaults"];
  const Json& series = File()["max_series"];
  WaitOptions options = SmithyWaiter();
  options.max_attempts = std::ssize(series.array()) + 1;

  EXPECT_EQ(options.backoff.initial_delay, Seconds(defaults["min_delay"]));
  EXPECT_EQ(options.backoff.max_delay, Seconds(defaults["max_delay"]));
  File().RanEach(defaults);
  const std::vector<absl::Duration> highest =
      Play(options, {NotReady()}, kHighestDraws).delays;
  const std::vector<absl::Duration> lowest =
      Play(options, {NotReady()}, kLowestDraws).delays;
  ASSERT_EQ(highest.size(), series.array().size());
  ASSERT_EQ(lowest.size(), series.array().size());
  for (size_t i = 0; i < highest.size(); ++i) {
    const Json& ceiling = series[static_cast<int>(i)];
    EXPECT_EQ(highest[i], Seconds(ceiling));
    EXPECT_EQ(lowest[i], Seconds(defaults["min_delay"]));
    File().Ran(ceiling);
  }

  // The specification compares the attempt with this number instead.
  const Json& attempt_ceiling = File()["attempt_ceiling_2_120"];
  const auto last_below_cap =
      static_cast<size_t>(std::floor(attempt_ceiling.number()));
  EXPECT_LT(highest[last_below_cap - 1], options.backoff.max_delay);
  EXPECT_EQ(highest[last_below_cap], options.backoff.max_delay);
  File().Ran(attempt_ceiling);
}

// The worked example of the specification, with the draws that it implies.
TEST_F(SmithyWaiterVectorsTest, ExampleOfTheSpecification) {
  const Json& example = File()["spec_example"];
  const Json& series = File()["max_series"];
  const int last_in_series = static_cast<int>(series.array().size()) - 1;
  WaitOptions options = SmithyWaiter();
  options.timeout = absl::Seconds(300);
  std::vector<uint64_t> draws;
  for (const Json& row : example.array()) {
    const auto attempt = static_cast<int>(row["attempt"].number());
    if (attempt == 1) continue;  // Its window is a point.
    draws.push_back(
        DrawFor(Seconds(row["delay"]), MinDelay(options.backoff),
                Seconds(series[std::min(attempt - 1, last_in_series)])));
  }

  const PlayedWait played = Play(options, {NotReady()}, draws);

  ASSERT_EQ(played.delays.size(), example.array().size());
  absl::Duration cumulative;
  for (size_t i = 0; i < played.delays.size(); ++i) {
    const Json& row = example[static_cast<int>(i)];
    EXPECT_EQ(played.delays[i], Seconds(row["delay"])) << i;
    cumulative += played.delays[i];
    EXPECT_EQ(cumulative, Seconds(row["cumulative"]));
    EXPECT_EQ(*options.timeout - cumulative, Seconds(row["remaining"]));
    File().Ran(row);
  }
  EXPECT_EQ(played.report.reason, StopReason::kDeadline);
}

// The tests of smithy-go, with its own lead before the deadline.
TEST_F(SmithyWaiterVectorsTest, CasesOfSmithyGo) {
  for (const Json& entry : File()["go_cases"].array()) {
    const std::string& name = entry["name"].string();
    const absl::Duration min_delay = Seconds(entry["min"]);
    WaitOptions options = SmithyWaiter(min_delay, Seconds(entry["max"]));
    options.polls.last_lead = min_delay;
    options.timeout = Seconds(entry["max_wait"]);
    options.max_attempts = static_cast<int64_t>(entry["attempts"].number()) + 1;

    for (const std::vector<uint64_t>& draws :
         {kLowestDraws, kHighestDraws, {DrawOf(0.5)}}) {
      const PlayedWait played = Play(options, {NotReady()}, draws);
      if (entry.has("error")) {
        EXPECT_THAT(played.report.status,
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(min_delay == absl::ZeroDuration()
                                           ? "backoff.initial_delay"
                                           : "backoff.max_delay")));
        EXPECT_EQ(played.report.attempts, 0);
        continue;
      }
      // smithy-go computes a delay after every poll.
      EXPECT_GE(played.report.attempts, entry["min_attempts"].number()) << name;
      if (*options.timeout >= 2 * min_delay) {
        EXPECT_GE(std::ssize(played.delays), entry["min_attempts"].number());
      }
      if (name == "max wait < min delay") {
        // The one difference: a second poll at the deadline, as specified.
        EXPECT_EQ(played.delays, std::vector{absl::Seconds(5)});
        continue;
      }
      if (!entry.has("expected_max")) continue;
      const Json::Array& most = entry["expected_max"].array();
      for (size_t i = 0; i < std::min(most.size(), played.delays.size()); ++i) {
        EXPECT_LE(played.delays[i], Seconds(most[i])) << name << i;
      }
    }
    if (name == "max wait < min delay") {
      File().NotRun(entry,
                    "smithy-go polls once; as specified, there is a second "
                    "poll at the deadline, which was checked");
    } else {
      File().Ran(entry);
    }
  }
}

TEST_F(SmithyWaiterVectorsTest, LastPoll) {
  const Json& rule = File()["last_attempt_rule"];
  WaitOptions options = SmithyWaiter();
  options.timeout = absl::Seconds(9);

  // 2 s and 4 s leave 3 s, and the third delay, of 8 s, is fitted to that.
  EXPECT_EQ(rule["spec"].string(),
            "if remaining-delay<=minDelay: delay=remaining");
  EXPECT_EQ(Play(options, {NotReady()}).delays,
            (std::vector<absl::Duration>{absl::Seconds(2), absl::Seconds(4),
                                         absl::Seconds(3)}));
  EXPECT_EQ(rule["smithy_go"].string(), "delay=remaining-minDelay");
  options.polls.last_lead = MinDelay(options.backoff);
  EXPECT_EQ(Play(options, {NotReady()}).delays,
            (std::vector<absl::Duration>{absl::Seconds(2), absl::Seconds(4),
                                         absl::Seconds(1)}));
  File().RanEach(rule);
}

// Kotlin's generated waiters are its standard strategy with other parameters.
TEST_F(SmithyWaiterVectorsTest, WaitersOfKotlin) {
  const Json& kotlin = File()["kotlin_waiter"];
  const absl::Duration min_delay = Seconds(File()["defaults"]["min_delay"]);
  const absl::Duration max_delay = Seconds(File()["defaults"]["max_delay"]);

  const PlayedWait played = Play(
      KotlinStandard({.max_attempts =
                          static_cast<int64_t>(kotlin["max_attempts"].number()),
                      .initial_delay = min_delay,
                      .scale_factor = kotlin["scale_factor"].number(),
                      .jitter = kotlin["jitter"].number(),
                      .max_backoff = max_delay}),
      {NotReady()});

  EXPECT_EQ(played.report.attempts, 20);
  ASSERT_EQ(played.delays.size(), 19);
  EXPECT_EQ(played.delays[0], min_delay);
  EXPECT_EQ(played.delays[1], 1.5 * min_delay);
  EXPECT_EQ(played.delays.back(), max_delay);
  File().Ran(kotlin);
}

TEST_F(SmithyWaiterVectorsTest, MixedAnswersGrowTogether) {
  WaitOptions options = SmithyWaiter();
  EXPECT_EQ(
      Play(options, {NotReady(), Throttled(), ServerError("", absl::Hours(1)),
                     NotReady(), Success()})
          .delays,
      (std::vector<absl::Duration>{absl::Seconds(2), absl::Seconds(4),
                                   absl::Seconds(8), absl::Seconds(16)}));
}

}  // namespace
}  // namespace waiter::smithy_waiter_vectors_test
