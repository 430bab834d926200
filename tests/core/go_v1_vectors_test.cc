// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `DefaultRetryer.RetryRules` of the AWS SDK for Go v1, to the nanosecond.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/json.h"
#include "tests/support/vectors.h"
#include "waiter/classify.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/result.h"

namespace waiter::go_v1_vectors_test {
namespace {

absl::Duration Ns(const Json& nanoseconds) {
  return absl::Nanoseconds(static_cast<int64_t>(nanoseconds.number()));
}

size_t RetryCount(const Json& row) {
  return static_cast<size_t>(row["retry_count"].number());
}

PollStatus Classify(const Json& http_status) {
  return ErrorClassifier::AwsGoV1().ClassOf(
      {.http_status = static_cast<int>(http_status.number())});
}

// An hour before the one date in the file.
constexpr int64_t kNowInUnixSeconds = 946684799 - 3600;

RetryAfter Parse(const Json& header) {
  return ParseRetryAfter(header.string(),
                         absl::FromUnixSeconds(kNowInUnixSeconds));
}

class GoV1VectorsTest
    : public VectorTest<"go_v1_retryrules.json", /*cases=*/151> {
 protected:
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
    GoV1RetryRules(options).delay_source->NextDelay(
        {.found = found,
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
        // The upper draws of this row exceed the cap, and are repeated.
        std::vector<uint64_t> draws(retries, 0);
        draws.insert(draws.end(), {PlayedDraws::max(), 0});
        EXPECT_EQ(Delays(options, found, draws)[retries], low) << retries;
        EXPECT_GT(lowest[retries], low) << retries;
        EXPECT_EQ(highest[retries], high - absl::Nanoseconds(1)) << retries;
      } else {
        EXPECT_EQ(lowest[retries], low) << retries;
        EXPECT_EQ(highest[retries], high) << retries;
      }
      File().Ran(row);
    }
    const bool is_throttled = found.status() == PollStatus::kThrottled;
    EXPECT_EQ(is_throttled ? options.min_throttled_delay : options.min_delay,
              Ns(table["min_delay_ns"]));
    EXPECT_EQ(is_throttled ? options.max_throttled_delay : options.max_delay,
              Ns(table["max_delay_ns"]));
    for (const char* text : {"min_delay_ns", "max_delay_ns", "log2_bits"}) {
      File().Describes(table[text]);
    }
    // Just below the guard the delay is drawn, found too long, and drawn again;
    // from the guard on it is drawn once.
    const auto guard =
        static_cast<int64_t>(table["guard_first_retry_count"].number());
    EXPECT_EQ(guard, 63 - table["log2_bits"].number());
    EXPECT_EQ(DrawsOfOneDelay(options, found, guard - 1), 2);
    EXPECT_EQ(DrawsOfOneDelay(options, found, guard), 1);
    EXPECT_EQ(DrawsOfOneDelay(options, found, 1'000'000'000), 1);
    File().Ran(table["guard_first_retry_count"]);
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
  File().RanEach(defaults);
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

  CheckTable({}, ServerError(), tables["non_throttle"]);
  CheckTable({}, NotReady(), tables["non_throttle"]);
  CheckTable({}, Throttled(), tables["throttle"]);
  CheckTable(GoV1DynamoDb(), ServerError(), tables["dynamodb_non_throttle"]);
  CheckTable(GoV1Ec2NetworkInterfaces(), ServerError(), tables["ec2_custom"]);
  CheckTable(GoV1Ec2NetworkInterfaces(), Throttled(), tables["ec2_custom"]);
}

TEST_F(GoV1VectorsTest, ServiceOverrides) {
  const Json& overrides = File()["service_overrides"];

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
  File().RanEach(dynamodb);
  File().RanEach(ec2);
}

TEST_F(GoV1VectorsTest, DelayProperties) {
  for (const Json& entry : File()["delay_properties"].array()) {
    const Poll<> found(Classify(entry["status"]), "", Parse(entry["header"]));
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
    File().Ran(entry);
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
  File().Ran(expected);
}

TEST_F(GoV1VectorsTest, RangesOfItsRequestTest) {
  const Json& ranges = File()["request_test_ranges_ms"];

  for (const auto& [name, found] :
       {std::pair("non_throttle", ServerError()), {"throttle", Throttled()}}) {
    const PlayedWait lowest = Play(GoV1RetryRules(), {found}, kLowestDraws);
    const PlayedWait highest = Play(GoV1RetryRules(), {found}, kHighestDraws);
    ASSERT_EQ(lowest.delays.size(), 3);
    ASSERT_EQ(highest.delays.size(), 3);
    for (size_t i = 0; i < 3; ++i) {
      const Json& range = ranges[name][static_cast<int>(i)];
      EXPECT_EQ(lowest.delays[i], Ms(range[0]));
      EXPECT_LT(highest.delays[i], Ms(range[1]));
      EXPECT_GT(highest.delays[i], Ms(range[1]) - absl::Nanoseconds(5));
      File().Ran(range);
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

TEST_F(GoV1VectorsTest, StatusClassification) {
  for (const Json& entry : File()["status_classification"].array()) {
    const PollStatus found = Classify(entry["status"]);
    EXPECT_EQ(found == PollStatus::kThrottled, entry["throttle"].boolean());
    EXPECT_EQ(
        found == PollStatus::kThrottled || found == PollStatus::kServerError,
        entry["retry"].boolean());
    File().Ran(entry);
  }
}

// Go accepts what `strconv.Atoi` does, but the parser follows RFC 9110.
TEST_F(GoV1VectorsTest, RetryAfterIsParsed) {
  struct Difference {
    RetryAfter ours;
    std::string_view reason;
  };
  const std::map<std::string, Difference> differences = {
      {"-5",
       {RetryAfter(), "Go shortens the delay; RFC 9110 has digits alone"}},
      {"+5", {RetryAfter(), "Go takes 5 s; RFC 9110 has digits alone"}},
      {" 5",
       {RetryAfter(absl::Seconds(5)),
        "Go takes nothing; spaces around a value are no part of it"}},
      {"Fri, 31 Dec 1999 23:59:59 GMT",
       {RetryAfter(absl::Hours(1)), "Go takes nothing; RFC 9110 has dates"}},
  };
  for (const char* list : {"parse_retry_after", "parse_derived"}) {
    for (const Json& entry : File()[list].array()) {
      const std::string& header = entry["header"].string();
      SCOPED_TRACE(header);
      const RetryAfter hint = Parse(entry["header"]);
      // A hint is added to a throttled delay, in full.
      EXPECT_EQ(Delays({}, Throttled("", hint), kLowestDraws)[0],
                absl::Milliseconds(500) + absl::Duration(hint));
      const auto difference = differences.find(header);
      if (difference != differences.end()) {
        EXPECT_EQ(hint, difference->second.ours);
        File().NotRun(entry, difference->second.reason);
        continue;
      }
      EXPECT_EQ(hint, entry["ok"].boolean()
                          ? RetryAfter(Seconds(entry["delay_s"]))
                          : RetryAfter());
      File().Ran(entry);
    }
  }
}

TEST_F(GoV1VectorsTest, RetryAfterCountsForSomeStatuses) {
  for (const Json& entry : File()["can_use_retry_after"].array()) {
    SCOPED_TRACE(entry["status"].number());
    const PollStatus found = Classify(entry["status"]);
    const absl::Duration hint = absl::Seconds(7);
    const auto slept = [&](absl::Duration retry_after) {
      return Play(GoV1RetryRules({.max_retries = 1}),
                  {Poll<>(found, "", retry_after)}, kLowestDraws)
          .report.slept;
    };
    // After a success nothing sleeps, with or without a hint.
    EXPECT_EQ(slept({}) > absl::ZeroDuration(),
              entry["status"].number() != 200);
    EXPECT_EQ(slept(hint) - slept({}),
              entry["ok"].boolean() ? hint : absl::ZeroDuration());
    File().Ran(entry);
  }
}

TEST_F(GoV1VectorsTest, History) {
  File().NotRunEach(File()["history"],
                    "earlier releases, where Retry-After replaced the delay "
                    "and the growth ended earlier");
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
  // Without a maximum, the delay keeps growing.
  EXPECT_EQ(Play(GoV1RetryRules({.max_retries = 20,
                                 .max_delay = absl::InfiniteDuration()}),
                 {NotReady()}, kLowestDraws)
                .delays.back(),
            absl::Milliseconds(30) * (1 << 19));
}

}  // namespace
}  // namespace waiter::go_v1_vectors_test
