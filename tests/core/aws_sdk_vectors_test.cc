// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The standard strategies of the AWS SDKs: Kotlin's before 2026, and the common
// one since. Every wait is played, and its tokens are read before every poll.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "tests/support/json.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "tests/support/vectors.h"
#include "waiter/budgets.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::aws_sdk_vectors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Half a nanosecond of rounding in the delay, and as much in the number read.
constexpr absl::Duration kTolerance = absl::Nanoseconds(1);

void ExpectNear(absl::Duration actual, absl::Duration expected) {
  EXPECT_LE(absl::AbsDuration(actual - expected), kTolerance)
      << actual << " instead of " << expected;
}

std::vector<absl::Duration> Delays(const WaitOptions& options,
                                   const Poll<>& found, size_t count,
                                   const std::vector<uint64_t>& draws) {
  WaitOptions unlimited = options;
  unlimited.budgets.retry_quota = nullptr;
  unlimited.max_attempts = static_cast<int64_t>(count) + 1;
  return Play(unlimited, {found}, draws).delays;
}

void ExpectSeries(const std::vector<absl::Duration>& delays,
                  const Json& expected, absl::Duration unit) {
  ASSERT_EQ(delays.size(), expected.array().size());
  for (size_t i = 0; i < delays.size(); ++i) {
    ExpectNear(delays[i], unit * expected[static_cast<int>(i)].number());
  }
}

// The tokens before every poll.
class TokenRecorder : public WaitObserver {
 public:
  explicit TokenRecorder(const RetryQuota& quota) : quota_(quota) {}
  void BeforePoll(const WaitIdentity&, int64_t) override {
    tokens.push_back(quota_.Available(MonotonicTime{}));
  }
  std::vector<double> tokens;

 private:
  const RetryQuota& quota_;
};

// Reads the header of these services.
RetryAfter Hint(const Json& header) {
  return ParseRetryAfterField("x-amz-retry-after", header.string(),
                              absl::UnixEpoch());
}

// Returns the answer of a status function of these services.
Poll<> Answer(const Json& response) {
  const double code = response["status_code"].number();
  RetryAfter hint;
  if (response.has("headers")) {
    hint = Hint(response["headers"]["x-amz-retry-after"]);
  }
  if (code == 200) return Success();
  if (response.has("error_code")) {
    EXPECT_EQ(response["error_code"].string(), "Throttling");
    return Throttled(response["error_code"].string(), hint);
  }
  return code >= 500 ? ServerError("5xx", hint) : Failed("4xx");
}

StopReason Reason(std::string_view outcome) {
  if (outcome == "success") return StopReason::kSuccess;
  if (outcome == "fail_request") return StopReason::kFailed;
  if (outcome == "max_attempts_exceeded") return StopReason::kAttempts;
  EXPECT_EQ(outcome, "retry_quota_exceeded");
  return StopReason::kQuota;
}

// Runs a wait on `responses` from index `first` until it ends, and returns the
// index at which the next one starts. `unit` is the unit of the delays.
size_t RunInvocation(WaitOptions options, const Json::Array& responses,
                     size_t first, absl::Duration unit) {
  TokenRecorder recorder(*options.budgets.retry_quota);
  options.hooks.observer = Unowned(recorder);
  std::vector<Poll<>> answers;
  for (size_t i = first; i < responses.size(); ++i) {
    answers.push_back(Answer(responses[i]["response"]));
  }

  const PlayedWait played = Play(options, answers, kHighestDraws);
  recorder.BeforePoll(WaitIdentity{}, 0);

  for (size_t i = 0; first + i < responses.size(); ++i) {
    const Json& expected = responses[first + i]["expected"];
    const std::string& outcome = expected["outcome"].string();
    const bool ends = outcome != "retry_request";
    const absl::Duration delay = unit * expected.number_or("delay", 0);
    if (i + 1 >= recorder.tokens.size()) {
      ADD_FAILURE() << "the wait ended after poll " << i;
      break;
    }
    if (expected.has("retry_quota")) {
      EXPECT_EQ(recorder.tokens[i + 1], expected["retry_quota"].number());
    }
    if (ends) {
      EXPECT_EQ(played.report.reason, Reason(outcome));
      EXPECT_EQ(played.report.attempts, i + 1);
      ExpectNear(played.after_last_poll, delay);
      return first + i + 1;
    }
    if (i >= played.delays.size()) {
      ADD_FAILURE() << "no delay after poll " << i + 1;
      break;
    }
    if (expected.has("delay")) ExpectNear(played.delays[i], delay);
  }
  return responses.size();
}

// The options of a case of 2026.
WaitOptions Given2026(const Json& given) {
  AwsRetryOptions options;
  if (given.has("service") && given["service"].string() == "dynamodb") {
    options = AwsDynamoDb2026();
    EXPECT_EQ(options.max_attempts, given["max_attempts"].number());
    EXPECT_EQ(options.initial_delay, Seconds(given["base_delay"]));
  }
  for (const auto& [name, value] : given.object()) {
    if (name == "max_attempts") {
      options.max_attempts = static_cast<int64_t>(value.number());
    } else if (name == "max_backoff_time") {
      options.max_backoff = Seconds(value);
    } else {
      static const std::array kOthers = {"exponential_base", "service",
                                         "base_delay", "initial_retry_tokens",
                                         "long_polling"};
      EXPECT_NE(std::find(kOthers.begin(), kOthers.end(), name), kOthers.end())
          << name;
    }
  }
  WaitOptions result = AwsStandard2026(options);
  EXPECT_EQ(result.budgets.retry_quota->Available(MonotonicTime{}), 500);
  if (given.has("initial_retry_tokens")) {
    RetryQuotaOptions quota = result.budgets.retry_quota->options();
    quota.capacity = given["initial_retry_tokens"].number();
    result.budgets.retry_quota = *RetryQuota::Make(quota);
  }
  result.budgets.delay_when_refused = given.has("long_polling");
  return result;
}

class AwsStandard2026VectorsTest
    : public VectorTest<"aws_standard_2026.json", /*cases=*/55> {
 protected:
  static void RunCases(std::string_view member) {
    for (const Json& entry : File()[member].array()) {
      SCOPED_TRACE(entry["name"].string());
      const WaitOptions options = Given2026(entry["given"]);
      const Json::Array& responses = entry["responses"].array();
      ASSERT_FALSE(responses.empty());
      size_t next = 0;  // Calls share the quota.
      do {
        next = RunInvocation(options, responses, next, absl::Seconds(1));
      } while (next < responses.size());
      File().Ran(entry);
    }
  }
};

TEST_F(AwsStandard2026VectorsTest, Profile) {
  File().Describes({"source", "notes"});
  const Json& profile = File()["profile"];
  const AwsRetryOptions options;
  const RetryQuotaOptions quota =
      AwsStandard2026().budgets.retry_quota->options();

  EXPECT_EQ(quota.retry_cost, profile["retry_cost"].number());
  EXPECT_EQ(quota.timeout_cost, profile["retry_cost"].number());
  EXPECT_EQ(quota.throttle_cost, profile["throttling_retry_cost"].number());
  EXPECT_EQ(quota.success_increment, profile["success_increment"].number());
  EXPECT_EQ(quota.initial_cost, 0);
  EXPECT_EQ(quota.refill_per_second, 0);
  EXPECT_EQ(options.initial_delay, Seconds(profile["base_delay_s"]));
  EXPECT_EQ(options.throttled_initial_delay,
            Seconds(profile["throttling_base_delay_s"]));
  EXPECT_EQ(options.scale_factor, profile["factor"].number());
  EXPECT_EQ(options.max_backoff, Seconds(profile["max_backoff_s"]));
  EXPECT_EQ(options.retry_after_max_overshoot,
            Seconds(profile["retry_after_overshoot_s"]));
  File().RanEach(profile);
}

TEST_F(AwsStandard2026VectorsTest, Standard) { RunCases("standard"); }

TEST_F(AwsStandard2026VectorsTest, LongPolling) { RunCases("long_polling"); }

TEST_F(AwsStandard2026VectorsTest, CallsOneAfterAnother) {
  RunCases("multi_invocation");
}

// The second wait runs inside the third poll of the first, which gives the
// order of the file.
TEST_F(AwsStandard2026VectorsTest, CallsThatOverlap) {
  for (const Json& entry : File()["multi_threaded"].array()) {
    const WaitOptions options = Given2026(entry["given"]);
    const Json::Array& outer = entry["threads"][0].array();
    const Json::Array& inner = entry["threads"][1].array();
    const auto tokens = [&] {
      return options.budgets.retry_quota->Available(MonotonicTime{});
    };
    SimulatedClock clock;
    WaitOptions outer_options = options;
    outer_options.clock = &clock;
    outer_options.timeout = absl::InfiniteDuration();
    size_t polls = 0;
    const auto ask = [&]() -> Poll<> {
      if (polls > 0) {
        EXPECT_EQ(tokens(),
                  outer[polls - 1]["expected"]["retry_quota"].number());
      }
      if (polls + 1 == outer.size()) {
        EXPECT_EQ(RunInvocation(options, inner, 0, absl::Seconds(1)),
                  inner.size());
      }
      return Answer(outer[polls++]["response"]);
    };

    EXPECT_TRUE(Waiter(ask, outer_options).Wait().ok());
    EXPECT_EQ(polls, outer.size());
    EXPECT_EQ(tokens(), outer.back()["expected"]["retry_quota"].number());
    EXPECT_EQ(tokens(), entry["expected_final_quota"].number());
    File().Ran(entry);
  }
}

// On threads the order is open, but the final state is not.
TEST_F(AwsStandard2026VectorsTest, CallsOnThreads) {
  for (const Json& entry : File()["multi_threaded"].array()) {
    const WaitOptions options = Given2026(entry["given"]);
    {
      std::vector<JoiningThread> threads;
      for (const Json& responses : entry["threads"].array()) {
        std::vector<Poll<>> answers;
        for (const Json& step : responses.array()) {
          answers.push_back(Answer(step["response"]));
        }
        threads.emplace_back([&options, answers = std::move(answers)] {
          EXPECT_EQ(Play(options, answers).report.reason, StopReason::kSuccess);
        });
      }
    }
    EXPECT_EQ(options.budgets.retry_quota->Available(MonotonicTime{}),
              entry["expected_final_quota"].number());
  }
}

TEST_F(AwsStandard2026VectorsTest, RetryAfterHeader) {
  for (const Json& entry : File()["retry_after_header"].array()) {
    WaitOptions options = AwsStandard2026();
    TokenRecorder recorder(*options.budgets.retry_quota);
    options.hooks.observer = Unowned(recorder);

    const PlayedWait played =
        Play(options, {ServerError("", Hint(entry["header"])), Success()});

    ASSERT_EQ(recorder.tokens.size(), 2);
    ASSERT_EQ(played.delays.size(), 1);
    EXPECT_EQ(recorder.tokens[1], entry["quota_after_failure"].number());
    ExpectNear(played.delays[0], Seconds(entry["delay"]));
    EXPECT_EQ(options.budgets.retry_quota->Available(MonotonicTime{}),
              entry["quota_after_success"].number());
    File().Ran(entry);
  }
}

TEST_F(AwsStandard2026VectorsTest, Series) {
  const Json& series = File()["botocore_max_delay_series"];
  ExpectSeries(Delays(AwsStandard2026(), ServerError(),
                      series["attempts"].array().size(), kHighestDraws),
               series["delay"], absl::Seconds(1));

  // The series of most SDKs before 2026, except Kotlin's.
  const Json& before = File()["botocore_legacy_standard_series"];
  ExpectSeries(
      Delays(KotlinStandard(
                 {.initial_delay = absl::Seconds(1), .scale_factor = 2}),
             ServerError(), before["attempts"].array().size(), kHighestDraws),
      before["delay"], absl::Seconds(1));
  for (const Json* list : {&series, &before}) {
    File().RanEach((*list)["delay"]);
    File().Describes((*list)["attempts"]);
  }
  File().Describes(before["note"]);
}

TEST_F(AwsStandard2026VectorsTest, WhereTheSdksDiffer) {
  for (const Json& entry : File()["divergence"].array()) {
    WaitOptions options = AwsStandard2026();
    options.budgets.retry_quota = *RetryQuota::Make({.capacity = 0});
    options.budgets.delay_when_refused = true;

    EXPECT_EQ(Play(options, {Throttled()}).after_last_poll,
              Seconds(entry["kotlin_rust_expected_delay"]));
    File().Ran(entry["kotlin_rust_expected_delay"]);
    File().NotRun(entry["go_v2_expected_delay"],
                  "the SDK for Go v2 alone sleeps 50 ms");
    File().Describes(entry["name"]);
    File().Describes(entry["source"]);
  }
}

// A delay is uniform below its ceiling. The hint is clamped around that delay.
TEST_F(AwsStandard2026VectorsTest, TheHintIsClampedAroundTheDrawnDelay) {
  WaitOptions options = AwsStandard2026();

  EXPECT_THAT(
      Play(options, {ServerError("", absl::Seconds(10))}, {DrawOf(0.5)}).delays,
      ElementsAre(absl::Milliseconds(5025), absl::Milliseconds(5050)));
  EXPECT_THAT(Play(options, {ServerError("", absl::InfiniteDuration())}).delays,
              ElementsAre(absl::Milliseconds(50), absl::Milliseconds(100)));
}

TEST_F(AwsStandard2026VectorsTest, MixedAnswersGrowTogether) {
  AwsRetryOptions options = {.max_attempts = 9};

  EXPECT_THAT(Play(AwsStandard2026(options),
                   {ServerError(), Throttled(), NotReady(), Success()})
                  .delays,
              ElementsAre(absl::Milliseconds(50), absl::Seconds(2),
                          absl::Milliseconds(200)));
}

using KotlinLegacyVectorsTest =
    VectorTest<"kotlin_standard_legacy.json", /*cases=*/9>;

TEST_F(KotlinLegacyVectorsTest, Cases) {
  File().Describes({"source", "notes"});
  for (const Json& entry : File()["cases"].array()) {
    SCOPED_TRACE(entry["name"].string());
    const Json& given = entry["given"];
    EXPECT_EQ(given.object().size(), 5);
    WaitOptions options = KotlinStandard(
        {.max_attempts = static_cast<int64_t>(given["max_attempts"].number()),
         .initial_delay = Ms(given["exponential_base"]),
         .scale_factor = given["exponential_power"].number(),
         .jitter = 0,
         .max_backoff = Ms(given["max_backoff_time"])});
    RetryQuotaOptions quota = KotlinRetryQuota();
    quota.capacity = given["initial_retry_tokens"].number();
    options.budgets.retry_quota = *RetryQuota::Make(quota);

    EXPECT_EQ(RunInvocation(options, entry["responses"].array(), 0,
                            absl::Milliseconds(1)),
              entry["responses"].array().size());
    File().Ran(entry);
  }
}

TEST_F(KotlinLegacyVectorsTest, Profile) {
  const Json& profile = File()["profile"];
  const RetryQuotaOptions quota =
      KotlinStandard().budgets.retry_quota->options();

  EXPECT_EQ(quota.capacity, 500);
  EXPECT_EQ(quota.retry_cost, profile["retry_cost"].number());
  EXPECT_EQ(quota.timeout_cost, profile["timeout_retry_cost"].number());
  EXPECT_EQ(quota.throttle_cost, profile["timeout_retry_cost"].number());
  EXPECT_EQ(quota.success_increment, profile["success_increment"].number());
  File().RanEach(profile);
}

TEST_F(KotlinLegacyVectorsTest, TheAdaptiveModeHasALimiterToo) {
  for (const WaitOptions& options : {KotlinAdaptive(), AwsAdaptive2026()}) {
    ASSERT_NE(options.budgets.retry_quota, nullptr);
    ASSERT_NE(options.budgets.rate_limiter, nullptr);

    // Throttling the first poll sets the rate to 0.5 per second, so the next
    // token takes 2 s.
    EXPECT_THAT(Play(options, {Throttled(), Success()}).delays,
                ElementsAre(absl::Seconds(2)));
  }
  EXPECT_EQ(KotlinStandard().budgets.rate_limiter, nullptr);
  EXPECT_EQ(AwsStandard2026().budgets.rate_limiter, nullptr);
}

class KotlinBackoffVectorsTest
    : public VectorTest<"kotlin_backoff.json", /*cases=*/95> {
 protected:
  // The parameters of `entry` in both presets; the rest are their defaults.
  static std::vector<WaitOptions> Presets(const Json& entry) {
    const auto set = [&entry](auto options) {
      options.initial_delay = Ms(entry["initial"]);
      options.scale_factor = entry["factor"].number();
      options.jitter = entry["jitter"].number();
      if (entry.has("max") && !entry["max"].is_null()) {
        options.max_backoff = Ms(entry["max"]);
      }
      return options;
    };
    std::vector<WaitOptions> presets = {
        AwsStandard2026(set(AwsRetryOptions()))};
    const bool is_throttled =
        entry.has("error") && entry["error"].string() == "Throttling";
    const bool has_hint =
        entry.has("retry_after") && entry.number_or("attempt", 0) > 0;
    // The old preset has no throttling base and no hint.
    if (!is_throttled && !has_hint) {
      presets.push_back(KotlinStandard(set(KotlinRetryOptions())));
    }
    return presets;
  }
};

TEST_F(KotlinBackoffVectorsTest, Cases) {
  File().Describes({"source", "units"});
  for (const Json& entry : File()["cases"].array()) {
    SCOPED_TRACE(entry["name"].string());
    absl::Duration hint;
    if (entry.has("retry_after") && !entry["retry_after"].is_null()) {
      hint = Ms(entry["retry_after"]);
    }
    const Poll<> found =
        entry.has("error") && entry["error"].string() == "Throttling"
            ? Throttled("", hint)
            : ServerError("", hint);
    for (const WaitOptions& options : Presets(entry)) {
      if (entry.has("expect")) {
        ExpectSeries(Delays(options, found, entry["expect"].array().size(),
                            kLowestDraws),
                     entry["expect"], absl::Milliseconds(1));
        continue;
      }
      const Json& ranges = entry["expect_ranges"];
      const size_t count = ranges.array().size();
      const std::vector<absl::Duration> lowest =
          Delays(options, found, count, kLowestDraws);
      const std::vector<absl::Duration> highest =
          Delays(options, found, count, kHighestDraws);
      ASSERT_GT(count, 0);
      ASSERT_EQ(lowest.size(), count);
      ASSERT_EQ(highest.size(), count);
      for (size_t i = 0; i < count; ++i) {
        ExpectNear(lowest[i], Ms(ranges[static_cast<int>(i)][0]));
        ExpectNear(highest[i], Ms(ranges[static_cast<int>(i)][1]));
      }
    }
    File().Ran(entry);
  }
}

TEST_F(KotlinBackoffVectorsTest, Defaults) {
  const auto check = [](const auto& options, const Json& expected) {
    EXPECT_EQ(options.initial_delay, Ms(expected["initial_delay"]));
    EXPECT_EQ(options.scale_factor, expected["scale_factor"].number());
    EXPECT_EQ(options.jitter, expected["jitter"].number());
    EXPECT_EQ(options.max_backoff, Ms(expected["max_backoff"]));
    for (const char* name :
         {"initial_delay", "scale_factor", "jitter", "max_backoff"}) {
      File().Ran(expected[name]);
    }
  };
  const Json& legacy = File()["defaults_legacy"];
  check(KotlinRetryOptions(), legacy);
  for (const char* name :
       {"throttling_base_delay", "retry_after_max_overshoot"}) {
    File().NotRun(legacy[name],
                  "came later; the guide that the preset follows has neither");
  }
  const Json& expected = File()["defaults_2026"];
  check(AwsRetryOptions(), expected);
  EXPECT_EQ(AwsRetryOptions().throttled_initial_delay,
            Ms(expected["throttling_base_delay"]));
  EXPECT_EQ(AwsRetryOptions().retry_after_max_overshoot,
            Ms(expected["retry_after_max_overshoot"]));
  File().Ran(expected["throttling_base_delay"]);
  File().Ran(expected["retry_after_max_overshoot"]);
}

TEST_F(KotlinBackoffVectorsTest, Series) {
  const Json& table = File()["seed_doc_table"];
  const Json& exact = table["expect_exact"];
  ExpectSeries(Delays(KotlinStandard({.initial_delay = Ms(table["initial"]),
                                      .scale_factor = table["factor"].number(),
                                      .jitter = table["jitter"].number(),
                                      .max_backoff = Ms(table["max"])}),
                      ServerError(), exact.array().size(), kLowestDraws),
               exact, absl::Milliseconds(1));
  File().RanEach(exact);
  for (const char* text : {"source", "initial", "factor", "jitter", "max"}) {
    File().Describes(table[text]);
  }

  const Json& legacy = File()["derived_max_series_legacy"];
  const std::vector<absl::Duration> delays =
      Delays(KotlinStandard(), ServerError(), legacy["exact"].array().size(),
             kHighestDraws);
  ExpectSeries(delays, legacy["exact"], absl::Milliseconds(1));
  ASSERT_EQ(delays.size(), legacy["truncated_ms"].array().size());
  // The original truncates delays to whole milliseconds.
  for (size_t i = 0; i < delays.size(); ++i) {
    EXPECT_EQ(absl::Trunc(delays[i], absl::Milliseconds(1)),
              Ms(legacy["truncated_ms"][static_cast<int>(i)]));
  }
  const Json& now = File()["derived_max_series_2026"]["exact"];
  ExpectSeries(Delays(AwsStandard2026(), ServerError(), now.array().size(),
                      kHighestDraws),
               now, absl::Milliseconds(1));
  for (const Json* list : {&legacy["exact"], &legacy["truncated_ms"], &now}) {
    File().RanEach(*list);
  }
  File().Describes(legacy["note"]);
}

TEST_F(KotlinBackoffVectorsTest, ExamplesOfTheGuide) {
  for (const Json& entry : File()["seed_doc_examples"].array()) {
    const auto max_attempts =
        static_cast<int64_t>(entry["max_attempts"].number());
    const PlayedWait played =
        Play(KotlinStandard({.max_attempts = max_attempts,
                             .initial_delay = Ms(entry["initial"]),
                             .max_backoff = Ms(entry["max"])}),
             {ServerError()});

    EXPECT_EQ(played.report.attempts, max_attempts);
    EXPECT_EQ(played.report.reason, StopReason::kAttempts);
    EXPECT_EQ(played.delays.at(0), Ms(entry["initial"]));
    File().Ran(entry);
  }
}

// Returns the answer of a status function for the result of an operation, named
// as in the strategy's own test.
Poll<> AnswerOf(const std::string& input) {
  if (input == "success") return Success();
  if (input == "throttled") return Throttled(input);
  if (input == "fail") return Failed(input);
  if (input == "exception") return Failed(absl::DataLossError(input));
  if (input == "retryable-exception") {
    return ServerError(absl::UnavailableError(input));
  }
  return ServerError(input);
}

void CheckOutcome(const WaitReport& report, const Json& expected) {
  const std::string& outcome = expected["outcome"].string();
  if (outcome == "response") {
    EXPECT_TRUE(report.status.ok());
    return;
  }
  if (outcome == "rethrow original exception") {
    EXPECT_THAT(report.status, StatusIs(absl::StatusCode::kDataLoss,
                                        StartsWith("exception (")));
    EXPECT_EQ(report.last_poll.error(), absl::DataLossError("exception"));
    return;
  }
  if (outcome == "rethrow last exception") {
    EXPECT_EQ(report.reason, StopReason::kAttempts);
    EXPECT_EQ(report.last_error->error(),
              absl::UnavailableError("retryable-exception"));
    return;
  }
  const bool failed = outcome == "RetryFailureException";
  EXPECT_TRUE(failed || outcome == "TooManyAttemptsException") << outcome;
  EXPECT_EQ(report.reason,
            failed ? StopReason::kFailed : StopReason::kAttempts);
  EXPECT_EQ(report.last_poll.detail(), expected["last_response"].string());
}

TEST_F(KotlinBackoffVectorsTest, Strategy) {
  const Json& strategy = File()["strategy_cases"];
  EXPECT_EQ(KotlinRetryOptions().max_attempts,
            strategy["default_max_attempts"].number());
  EXPECT_EQ(AwsRetryOptions().max_attempts,
            strategy["default_max_attempts"].number());
  File().Ran(strategy["default_max_attempts"]);
  File().Describes(strategy["source"]);

  for (const Json& entry : strategy["cases"].array()) {
    SCOPED_TRACE(entry["name"].string());
    std::vector<Poll<>> answers;
    for (const Json& input : entry["inputs"].array()) {
      answers.push_back(AnswerOf(input.string()));
    }
    const auto max_attempts =
        static_cast<int64_t>(entry.number_or("max_attempts", 3));
    for (const WaitOptions& options :
         {KotlinStandard({.max_attempts = max_attempts}),
          AwsStandard2026({.max_attempts = max_attempts})}) {
      const WaitReport report = Play(options, answers).report;

      EXPECT_EQ(report.attempts, entry["attempts"].number());
      CheckOutcome(report, entry);
    }
    File().Ran(entry);
  }
}

// Every poll of a wait makes the delays grow, and hints do not change them.
TEST_F(KotlinBackoffVectorsTest, MixedAnswersGrowTogether) {
  EXPECT_THAT(Play(KotlinStandard({.max_attempts = 9, .scale_factor = 2}),
                   {ServerError("", absl::Seconds(9)), Throttled(), NotReady(),
                    Success()})
                  .delays,
              ElementsAre(absl::Milliseconds(10), absl::Milliseconds(20),
                          absl::Milliseconds(40)));
}

}  // namespace
}  // namespace waiter::aws_sdk_vectors_test
