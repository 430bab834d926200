// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks the presets side by side, as docs/design.md shows them, and promises
// without reference data. Each system's own data is in its *_vectors_test.cc.

#include "waiter/presets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/vectors.h"
#include "waiter/budgets.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::presets_test {
namespace {

using absl::Milliseconds;
using absl::Minutes;
using absl::Nanoseconds;
using absl::Seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kNs = Nanoseconds(1);

struct Row {
  std::string_view name;
  WaitOptions options;
  Poll<> found;

  // The delays between the first four polls.
  std::vector<absl::Duration> lowest;
  std::vector<absl::Duration> highest;

  // The longest delay, if no other limit ends the wait.
  absl::Duration cap;

  // The end of the wait if nothing changes, and its number of polls.
  StopReason reason;
  int64_t attempts;
};

std::vector<absl::Duration> MillisecondList(
    std::initializer_list<double> list) {
  std::vector<absl::Duration> durations;
  for (const double number : list) durations.push_back(Milliseconds(number));
  return durations;
}

WaitOptions Within(absl::Duration timeout, WaitOptions options) {
  options.timeout = timeout;
  return options;
}

std::vector<Row> Table() {
  const auto ms = MillisecondList;
  const Poll<> error = ServerError();
  const absl::Duration cap = Seconds(5);
  return {
      {"AwsPollingPseudoCode(4)", AwsPollingPseudoCode(4), NotReady(),
       ms({200, 400, 800}), ms({200, 400, 800}),
       Milliseconds(100) * (int64_t{1} << 20), StopReason::kAttempts, 4},
      {"AwsPollingPseudoCode(4)",
       AwsPollingPseudoCode(4),
       error,
       {},
       {},
       absl::ZeroDuration(),
       StopReason::kConsecutiveLimit,
       1},
      {"AwsPollingJava(4, 5s)", AwsPollingJava(4, cap), error,
       ms({200, 400, 800}), ms({200, 400, 800}), cap, StopReason::kAttempts, 5},
      {"AwsPollingJavaPollingFirst(4, 5s)", AwsPollingJavaPollingFirst(4, cap),
       error, ms({200, 400, 800}), ms({200, 400, 800}), cap,
       StopReason::kAttempts, 5},
      {"GoV1RetryRules()",
       GoV1RetryRules(),
       error,
       ms({30, 60, 120}),
       {Milliseconds(60) - kNs, Milliseconds(120) - 2 * kNs,
        Milliseconds(240) - 4 * kNs},
       Minutes(5) - kNs,
       StopReason::kAttempts,
       4},
      {"GoV1RetryRules()",
       GoV1RetryRules(),
       Throttled(),
       ms({500, 1000, 2000}),
       {Milliseconds(1000) - kNs, Milliseconds(2000) - 2 * kNs,
        Milliseconds(4000) - 4 * kNs},
       Minutes(5) - kNs,
       StopReason::kAttempts,
       4},
      {"KotlinStandard({.max_attempts = 4})",
       KotlinStandard({.max_attempts = 4}), error, ms({0, 0, 0}),
       ms({10, 15, 22.5}), Seconds(20), StopReason::kAttempts, 4},
      {"AwsStandard2026({.max_attempts = 4})",
       AwsStandard2026({.max_attempts = 4}), error, ms({0, 0, 0}),
       ms({50, 100, 200}), Seconds(20), StopReason::kAttempts, 4},
      {"AwsStandard2026({.max_attempts = 4})",
       AwsStandard2026({.max_attempts = 4}), Throttled(), ms({0, 0, 0}),
       ms({1000, 2000, 4000}), Seconds(20), StopReason::kAttempts, 4},
      {"AwsStandard2026(AwsDynamoDb2026())", AwsStandard2026(AwsDynamoDb2026()),
       error, ms({0, 0, 0}), ms({25, 50, 100}), Seconds(20),
       StopReason::kAttempts, 4},
      {"SmithyWaiter()", Within(Minutes(5), SmithyWaiter()), error,
       ms({2000, 2000, 2000}), ms({2000, 4000, 8000}), Minutes(2),
       StopReason::kDeadline, 9},
      {"GrpcRetry()", GrpcRetry(), error, ms({80, 160, 320}),
       ms({120, 240, 480}), Milliseconds(1200), StopReason::kAttempts, 4},
  };
}

// The table of docs/design.md.
TEST(PresetsTest, SideBySide) {
  for (const Row& row : Table()) {
    SCOPED_TRACE(row.name);
    const PlayedWait highest = Play(row.options, {row.found}, kHighestDraws);
    std::vector<absl::Duration> lowest =
        Play(row.options, {row.found}, kLowestDraws).delays;
    std::vector<absl::Duration> first = highest.delays;
    first.resize(std::min<size_t>(first.size(), 3));
    lowest.resize(std::min<size_t>(lowest.size(), 3));
    EXPECT_EQ(lowest, row.lowest);
    EXPECT_EQ(first, row.highest);
    EXPECT_EQ(highest.report.reason, row.reason);
    EXPECT_EQ(highest.report.attempts, row.attempts);

    WaitOptions unlimited = row.options;
    unlimited.timeout = absl::InfiniteDuration();
    unlimited.max_attempts = 21;
    const std::vector<absl::Duration> delays =
        Play(unlimited, {row.found}, kHighestDraws).delays;
    EXPECT_EQ(delays.empty() ? absl::ZeroDuration()
                             : *std::max_element(delays.begin(), delays.end()),
              row.cap);
  }
}

TEST(PresetsTest, NoneHasATimeout) {
  for (const Row& row : Table()) {
    if (row.name == "SmithyWaiter()") continue;
    EXPECT_FALSE(row.options.timeout.has_value()) << row.name;
    EXPECT_FALSE(row.options.deadline.has_value()) << row.name;
  }
  EXPECT_FALSE(SmithyWaiter().timeout.has_value());
}

TEST(PresetsTest, AllStopAtFailureAndSuccess) {
  for (const Row& row : Table()) {
    for (const Poll<>& found : {Success(), Failed("gone")}) {
      EXPECT_EQ(Play(row.options, {found}).report.attempts, 1) << row.name;
    }
  }
}

TEST(PresetsTest, AllEndWithOneLastPollAtTheDeadline) {
  for (const Row& row : Table()) {
    WaitOptions options = Within(Milliseconds(250), row.options);
    options.max_attempts = std::nullopt;  // It would end some of them before.
    const PlayedWait played = Play(options, {NotReady()});
    EXPECT_EQ(played.report.reason, StopReason::kDeadline) << row.name;
    EXPECT_EQ(played.report.elapsed, Milliseconds(250)) << row.name;
    EXPECT_EQ(played.after_last_poll, absl::ZeroDuration()) << row.name;
    ASSERT_FALSE(played.delays.empty()) << row.name;
    EXPECT_GT(played.delays.back(), absl::ZeroDuration()) << row.name;
  }
}

TEST(PresetsTest, ParametersOutOfRangeAreErrorsThatNameAField) {
  const auto expect_error = [](const WaitOptions& options,
                               std::string_view field) {
    const PlayedWait played = Play(options, {NotReady()});
    EXPECT_THAT(played.report.status,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(field))));
    EXPECT_EQ(played.report.attempts, 0);
  };
  constexpr absl::Duration kNegative = Seconds(-1);
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

  expect_error(AwsPollingPseudoCode(3, kNegative), "backoff.initial_delay");
  expect_error(AwsPollingJava(3, kNegative), "backoff.initial_delay");
  expect_error(GoV1RetryRules({.max_throttled_delay = kNegative}),
               "errors.throttled_backoff.initial_delay");
  expect_error(GoV1RetryRules({.min_throttled_delay = kNegative}),
               "errors.throttled_backoff.initial_delay");
  expect_error(KotlinStandard({.max_attempts = 0}), "max_attempts");
  expect_error(KotlinStandard({.scale_factor = 0.5}), "backoff.multiplier");
  expect_error(KotlinStandard({.jitter = kNaN}), "backoff.jitter");
  expect_error(KotlinStandard({.max_backoff = Milliseconds(9)}),
               "backoff.max_delay");
  expect_error(AwsStandard2026({.throttled_initial_delay = kNegative}),
               "errors.throttled_backoff.initial_delay");
  expect_error(AwsStandard2026({.retry_after_max_overshoot = kNegative}),
               "errors.retry_after.overshoot");
  expect_error(SmithyWaiter(kNegative), "backoff.initial_delay");
  expect_error(SmithyWaiter(absl::InfiniteDuration()), "backoff");
  expect_error(GrpcRetry({.max_attempts = 0}), "max_attempts");
  expect_error(GrpcRetry({.backoff_multiplier = kNaN}), "backoff.multiplier");
}

TEST(PresetsTest, NoNumberOfPollsIsTooLarge) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const WaitOptions& options : {AwsPollingJava(kMax, absl::ZeroDuration()),
                                     GoV1RetryRules({.max_retries = kMax})}) {
    EXPECT_EQ(options.max_attempts, kMax);
    EXPECT_TRUE(Play(options, {NotReady(), Success()}).report.status.ok());
  }
}

TEST(PresetsTest, DelaysWithoutACapStayInRange) {
  for (const WaitOptions& options :
       {AwsPollingJava(30, absl::InfiniteDuration()),
        KotlinStandard(
            {.max_attempts = 30, .max_backoff = absl::InfiniteDuration()}),
        AwsStandard2026(
            {.max_attempts = 30, .max_backoff = absl::InfiniteDuration()})}) {
    const PlayedWait played = Play(options, {NotReady()});
    EXPECT_THAT(played.delays, SizeIs(options.max_attempts.value() - 1));
    EXPECT_TRUE(std::is_sorted(played.delays.begin(), played.delays.end()));
  }
}

TEST(PresetsTest, ANewQuotaForEveryCallOfAPreset) {
  const WaitOptions options = AwsStandard2026({.max_attempts = 1000});
  // 35 retries cost 490 of 500 tokens.
  for (const int64_t attempts : {36, 1}) {
    const PlayedWait played = Play(options, {ServerError()});
    EXPECT_EQ(played.report.reason, StopReason::kQuota);
    EXPECT_EQ(played.report.attempts, attempts);
  }
  EXPECT_EQ(Play(AwsStandard2026(), {ServerError()}).report.reason,
            StopReason::kAttempts);
}

TEST(PresetsTest, TimeoutsCostMoreTokensOnlyBefore2026) {
  const Poll<> timeout = ServerError(absl::DeadlineExceededError("too slow"));
  const auto cost = [](const WaitOptions& options, const Poll<>& found) {
    Play(options, {found, Failed()});
    return 500 - options.budgets.retry_quota->Available({});
  };

  EXPECT_EQ(cost(KotlinStandard(), timeout), 10);
  EXPECT_EQ(cost(KotlinStandard(), Throttled()), 10);
  EXPECT_EQ(cost(KotlinStandard(), ServerError()), 5);
  EXPECT_EQ(cost(KotlinStandard(), NotReady()), 0);
  EXPECT_EQ(cost(AwsStandard2026(), timeout), 14);
  EXPECT_EQ(cost(AwsStandard2026(), Throttled()), 5);
  EXPECT_EQ(cost(AwsStandard2026(), ServerError()), 14);
}

TEST(PresetsTest, GrpcJittersAboveItsCap) {
  EXPECT_THAT(Play(GrpcRetry({.max_attempts = 5,
                              .initial_backoff = Seconds(4),
                              .max_backoff = Seconds(10)}),
                   {ServerError()})
                  .delays,
              ElementsAre(Milliseconds(4800), Milliseconds(9600), Seconds(12),
                          Seconds(12)));
}

TEST(PresetsTest, GrpcPushbackReplacesADelayAndRestartsGrowth) {
  EXPECT_THAT(Play(GrpcRetry({.max_attempts = 5}),
                   {ServerError(), ServerError(), ServerError("", Seconds(7)),
                    ServerError()})
                  .delays,
              ElementsAre(Milliseconds(120), Milliseconds(240), Seconds(7),
                          Milliseconds(120)));
}

TEST(PresetsTest, GrpcNegativePushbackEndsTheWait) {
  const PlayedWait played =
      Play(GrpcRetry(), {ServerError("", -Milliseconds(1))});

  EXPECT_EQ(played.report.reason, StopReason::kDelaySource);
  EXPECT_THAT(played.delays, IsEmpty());
}

TEST(PresetsTest, GrpcMakesFiveAttemptsAtMost) {
  EXPECT_EQ(
      Play(GrpcRetry({.max_attempts = 9}), {ServerError()}).report.attempts, 5);
}

}  // namespace
}  // namespace waiter::presets_test
