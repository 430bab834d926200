// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `DefaultRetryer.RetryRules` of the AWS SDK for Go v1, to the nanosecond.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/delay_rule.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/wait_result.h"

namespace waiter {
namespace {

absl::Duration Ns(const Json& nanoseconds) {
  return absl::Nanoseconds(static_cast<int64_t>(nanoseconds.number()));
}

size_t RetryCount(const Json& row) {
  return static_cast<size_t>(row["retry_count"].number());
}

// What a status function answers for an HTTP status, as Go classifies it.
Poll<> Answer(double status, absl::Duration retry_after = {}) {
  return status == 500 ? ServerError("500", retry_after)
                       : Throttled("429, 502, 503 or 504", retry_after);
}

absl::Duration HeaderSeconds(const Json& header) {
  return header.string().empty() ? absl::ZeroDuration()
                                 : absl::Seconds(std::stoi(header.string()));
}

class GoV1VectorsTest : public testing::Test {
 protected:
  static VectorFile& File() {
    static VectorFile file("go_v1_retryrules.json");
    return file;
  }
  static void TearDownTestSuite() { File().Report(); }

  // The delays of 100 retries. `retries` is as in Go, from 0.
  static std::vector<absl::Duration> Delays(GoV1RetryOptions options,
                                            const Poll<>& found,
                                            std::vector<uint64_t> draws) {
    options.max_retries = 100;
    return Play(GoV1RetryRules(options), {found}, std::move(draws)).delays;
  }

  static int64_t DrawsOfOneDelay(const GoV1RetryOptions& options,
                                 const Poll<>& found, int64_t retries) {
    const auto computed = [] { return absl::ZeroDuration(); };
    PlayedDraws gen(kHighestDraws);
    GoV1RetryRules(options).delay_rule({.found = found,
                                        .attempt = retries + 1,
                                        .elapsed = absl::ZeroDuration(),
                                        .remaining = absl::InfiniteDuration(),
                                        .computed = computed},
                                       gen);
    return gen.drawn();
  }

  static void CheckTable(const GoV1RetryOptions& options, const Poll<>& found,
                         const Json& table) {
    const std::vector<absl::Duration> lowest =
        Delays(options, found, kLowestDraws);
    const std::vector<absl::Duration> highest =
        Delays(options, found, kHighestDraws);
    for (const Json& row : table["rows"].array()) {
      const size_t retries = RetryCount(row);
      const absl::Duration low = Ns(row["range_ns"][0]);
      const absl::Duration high = Ns(row["range_ns"][1]);
      if (row["branch"].string() == "straddles") {
        // The upper draws of this one are above the cap, and drawn again.
        std::vector<uint64_t> draws(retries, 0);
        draws.insert(draws.end(), {PlayedDraws::max(), 0});
        EXPECT_EQ(Delays(options, found, draws)[retries], low) << retries;
        EXPECT_GT(lowest[retries], low) << retries;
        EXPECT_EQ(highest[retries], high - absl::Nanoseconds(1)) << retries;
      } else {
        EXPECT_EQ(lowest[retries], low) << retries;
        EXPECT_EQ(highest[retries], high) << retries;
      }
      File().Ran();
    }
    // Just below the guard the delay is drawn, found too long, and drawn again;
    // from the guard on it is drawn once.
    const auto guard =
        static_cast<int64_t>(table["guard_first_retry_count"].number());
    EXPECT_EQ(guard, 63 - table["log2_bits"].number());
    EXPECT_EQ(DrawsOfOneDelay(options, found, guard - 1), 2);
    EXPECT_EQ(DrawsOfOneDelay(options, found, guard), 1);
    EXPECT_EQ(DrawsOfOneDelay(options, found, 1'000'000'000), 1);
    File().Ran();
  }
};

TEST_F(GoV1VectorsTest, Defaults) {
  File().Describes({"source", "jitter"});
  const Json& defaults = File()["defaults"];
  const GoV1RetryOptions options;

  EXPECT_EQ(options.max_retries, defaults["num_max_retries"].number());
  EXPECT_EQ(options.min_delay, Ms(defaults["min_retry_delay_ms"]));
  EXPECT_EQ(options.min_throttled_delay, Ms(defaults["min_throttle_delay_ms"]));
  EXPECT_EQ(options.max_delay, Seconds(defaults["max_retry_delay_s"]));
  EXPECT_EQ(options.max_throttled_delay,
            Seconds(defaults["max_throttle_delay_s"]));
  File().Ran(5);
}

TEST_F(GoV1VectorsTest, AFieldOfZeroMeansItsDefault) {
  const GoV1RetryOptions zeros = {.min_delay = absl::ZeroDuration(),
                                  .min_throttled_delay = absl::ZeroDuration(),
                                  .max_delay = absl::ZeroDuration(),
                                  .max_throttled_delay = absl::ZeroDuration()};
  for (const Poll<>& found : {ServerError(), Throttled()}) {
    EXPECT_EQ(Delays(zeros, found, kHighestDraws),
              Delays({}, found, kHighestDraws));
  }
}

TEST_F(GoV1VectorsTest, Tables) {
  const Json& tables = File()["tables"];
  EXPECT_EQ(tables.object().size(), 4);

  CheckTable({}, ServerError(), tables["non_throttle"]);
  CheckTable({}, NotReady(), tables["non_throttle"]);
  CheckTable({}, Throttled(), tables["throttle"]);
  CheckTable(GoV1DynamoDb(), ServerError(), tables["dynamodb_non_throttle"]);
  CheckTable(GoV1Ec2NetworkInterfaces(), ServerError(), tables["ec2_custom"]);
  CheckTable(GoV1Ec2NetworkInterfaces(), Throttled(), tables["ec2_custom"]);
}

TEST_F(GoV1VectorsTest, ServiceOverrides) {
  const Json& overrides = File()["service_overrides"];
  EXPECT_EQ(overrides.object().size(), 2);

  const Json& dynamodb = overrides["dynamodb"];
  EXPECT_EQ(GoV1DynamoDb().max_retries, dynamodb["num_max_retries"].number());
  EXPECT_EQ(GoV1DynamoDb().min_delay, Ms(dynamodb["min_retry_delay_ms"]));

  const Json& ec2 =
      overrides["ec2_ModifyNetworkInterfaceAttribute_AssignPrivateIpAddresses"];
  const GoV1RetryOptions options = GoV1Ec2NetworkInterfaces();
  EXPECT_EQ(options.max_retries, ec2["num_max_retries"].number());
  EXPECT_EQ(options.min_delay, Seconds(ec2["min_retry_delay_s"]));
  EXPECT_EQ(options.min_throttled_delay, Seconds(ec2["min_throttle_delay_s"]));
  EXPECT_EQ(options.max_delay, Seconds(ec2["max_retry_delay_s"]));
  EXPECT_EQ(options.max_throttled_delay, Seconds(ec2["max_throttle_delay_s"]));
  File().Ran(7);
}

TEST_F(GoV1VectorsTest, DelayProperties) {
  for (const Json& entry : File()["delay_properties"].array()) {
    const Poll<> found =
        Answer(entry["status"].number(), HeaderSeconds(entry["header"]));
    const std::vector<absl::Duration> lowest = Delays({}, found, kLowestDraws);
    const std::vector<absl::Duration> highest =
        Delays({}, found, kHighestDraws);
    ASSERT_EQ(highest.size(), 100);
    if (entry.has("retry_counts")) {
      EXPECT_EQ(entry["retry_counts"][0].number(), 0);
      EXPECT_EQ(entry["retry_counts"][1].number(), 99);
      for (const absl::Duration delay : highest) {
        EXPECT_LE(delay, Seconds(entry["max_s"]));
      }
    } else {
      const size_t retries = RetryCount(entry);
      EXPECT_GE(lowest[retries], Seconds(entry["min_s"]));
      EXPECT_EQ(lowest[retries], Seconds(entry["derived_range_s"][0]));
      EXPECT_LT(highest[retries], Seconds(entry["derived_range_s"][1]));
      EXPECT_GT(highest[retries],
                Seconds(entry["derived_range_s"][1]) - absl::Nanoseconds(3));
    }
    File().Ran();
  }
}

TEST_F(GoV1VectorsTest, NoRetries) {
  const Json& expected = File()["num_max_retries_zero"];

  const PlayedWait played =
      Play(GoV1RetryRules({.max_retries = 0}), {ServerError()});

  EXPECT_FALSE(expected["should_retry"].boolean());
  EXPECT_EQ(played.report.attempts, 1);
  EXPECT_EQ(played.report.reason, StopReason::kAttempts);
  EXPECT_EQ(played.report.slept, Ns(expected["delay_ns"]));
  File().Ran();
}

TEST_F(GoV1VectorsTest, RangesOfItsRequestTest) {
  const Json& ranges = File()["request_test_ranges_ms"];
  EXPECT_EQ(ranges.object().size(), 2);

  for (const auto& [name, found] :
       {std::pair("non_throttle", ServerError()), {"throttle", Throttled()}}) {
    const PlayedWait lowest = Play(GoV1RetryRules(), {found}, kLowestDraws);
    const PlayedWait highest = Play(GoV1RetryRules(), {found}, kHighestDraws);
    EXPECT_EQ(lowest.report.attempts, 4);
    for (size_t i = 0; i < 3; ++i) {
      const Json& range = ranges[name][static_cast<int>(i)];
      EXPECT_EQ(lowest.delays[i], Ms(range[0]));
      EXPECT_LT(highest.delays[i], Ms(range[1]));
      EXPECT_GT(highest.delays[i], Ms(range[1]) - absl::Nanoseconds(5));
      File().Ran();
    }
  }
}

// Attempts of both kinds share one count.
TEST_F(GoV1VectorsTest, MixedAnswersGrowTogether) {
  EXPECT_EQ(
      Play(GoV1RetryRules({.max_retries = 10}),
           {ServerError(), Throttled(), NotReady(), Success()}, kLowestDraws)
          .delays,
      (std::vector<absl::Duration>{absl::Milliseconds(30), absl::Seconds(1),
                                   absl::Milliseconds(120)}));
}

TEST_F(GoV1VectorsTest, RetryAfter) {
  // A header that is accepted is added to a throttled delay, in full.
  const Json& parsed = File()["parse_retry_after"];
  const Json& derived = File()["parse_derived"];
  for (const Json* list : {&parsed, &derived}) {
    for (const Json& entry : list->array()) {
      const absl::Duration hint = absl::Seconds(entry.number_or("delay_s", 0));
      const absl::Duration first =
          Delays({}, Throttled("", hint), kLowestDraws)[0];
      if (hint < absl::ZeroDuration()) {
        File().DoesNotApply(
            "parse_derived \"" + entry["header"].string() + "\"",
            "a negative hint is ignored, where Go shortens the delay");
        EXPECT_EQ(first, absl::Milliseconds(500));
        continue;
      }
      EXPECT_EQ(first, absl::Milliseconds(500) + hint);
      File().Ran();
    }
  }
  for (const Json& entry : File()["can_use_retry_after"].array()) {
    if (entry["status"].number() == 200) {
      EXPECT_FALSE(entry["ok"].boolean());  // A success has no delay.
    } else {
      const absl::Duration hint = absl::Seconds(7);
      const Poll<> with = Answer(entry["status"].number(), hint);
      const Poll<> without = Answer(entry["status"].number());
      EXPECT_EQ(Delays({}, with, kLowestDraws)[0] -
                    Delays({}, without, kLowestDraws)[0],
                entry["ok"].boolean() ? hint : absl::ZeroDuration());
    }
    File().Ran();
  }
}

TEST_F(GoV1VectorsTest, WhatIsNotOfTheDelay) {
  File().DoesNotApply("status_classification",
                      "a status function classifies; see the tables of "
                      "error_classifier_test",
                      std::ssize(File()["status_classification"].array()));
  File().DoesNotApply("history",
                      "earlier releases, where Retry-After replaced the delay "
                      "and the growth ended earlier",
                      std::ssize(File()["history"].array()));
}

TEST_F(GoV1VectorsTest, AbsurdParametersAreRefusedOrCapped) {
  EXPECT_EQ(Play(GoV1RetryRules({.min_delay = -absl::Seconds(1)}), {NotReady()})
                .report.reason,
            StopReason::kInvalidOptions);
  EXPECT_EQ(
      Play(GoV1RetryRules({.max_retries = -1}), {NotReady()}).report.reason,
      StopReason::kInvalidOptions);
  // A minimum above the maximum is a delay at the maximum.
  EXPECT_EQ(Play(GoV1RetryRules({.min_delay = absl::InfiniteDuration(),
                                 .max_delay = absl::Seconds(8)}),
                 {NotReady()}, kLowestDraws)
                .delays[0],
            absl::Seconds(4));
  // Without a maximum it grows on.
  EXPECT_EQ(Play(GoV1RetryRules({.max_retries = 20,
                                 .max_delay = absl::InfiniteDuration()}),
                 {NotReady()}, kLowestDraws)
                .delays.back(),
            absl::Milliseconds(30) * (1 << 19));
}

}  // namespace
}  // namespace waiter
