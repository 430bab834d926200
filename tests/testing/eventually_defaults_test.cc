// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/failures.h"
#include "tests/support/status_matchers.h"
#include "tests/testing/eventually_fixture.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/testing/test_limits.h"

namespace waiter::eventually_defaults_test {
namespace {

using ::absl::Hours;
using ::absl::Minutes;
using ::absl::Seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EventuallyDefaultsTest : public testing::Test {
 protected:
  EventuallyOptions OnClock() { return {.clock = &clock_}; }

  // Returns the limit of an assertion with these options, as its message says.
  std::string LimitOf(const EventuallyOptions& options) {
    const std::string text =
        FailureOf([&] { EXPECT_EVENTUALLY(1, 2, options); });
    return text.substr(0, text.find('\n'));
  }

  SimulatedClock clock_;
};

TEST_F(EventuallyDefaultsTest, ApplyToTheEndOfTheScope) {
  EXPECT_EQ(LimitOf(OnClock()), "1 did not match within 5s");
  {
    const ScopedEventuallyDefaults defaults({.timeout = Minutes(1)});
    EXPECT_EQ(LimitOf(OnClock()), "1 did not match within 1m");
  }
  EXPECT_EQ(LimitOf(OnClock()), "1 did not match within 5s");
}

// fluentassertions#3263, TUnit#4762: a suite's defaults reach all assertions.
TEST_F(EventuallyDefaultsTest, ReachAllKindsOfAssertions) {
  const ScopedEventuallyDefaults defaults(
      {.timeout = Hours(1),
       .backoff = {.initial_delay = Minutes(1), .max_delay = Minutes(1)},
       .hold_for = Minutes(10),
       .history_lines = 0,
       .clock = &clock_});

  EXPECT_EVENTUALLY(clock_.Elapsed(), Minutes(30));
  EXPECT_EVENTUALLY_PASSES({ EXPECT_EQ(clock_.Elapsed(), Minutes(40)); });
  EXPECT_CONSISTENTLY(1, 1);
  EXPECT_EQ(clock_.Elapsed(), Minutes(50));
  EXPECT_NEVER(1, 2);
  EXPECT_EQ(clock_.Elapsed(), Hours(1));
  EXPECT_TRUE(Eventually([&] { return clock_.Elapsed(); }, Minutes(70)).ok());
  EXPECT_EQ(FailureOf([&] { EXPECT_EVENTUALLY(1, 2); }),
            "1 did not match within 1h\n"
            "  Expected: is equal to 2\n"
            "    Actual: 1 (poll 61, at 1h)\n"
            "     Polls: 61 in 1h, limit 1h, simulated clock\n"
            "    Delays: 1m, no jitter");
}

TEST_F(EventuallyDefaultsTest, OptionsOfAnAssertionWinFieldByField) {
  const ScopedEventuallyDefaults defaults(
      {.timeout = Hours(1),
       .backoff = {.initial_delay = Minutes(7), .max_delay = Minutes(7)},
       .clock = &clock_});

  const std::string text =
      FailureOf([&] { EXPECT_EVENTUALLY(1, 2, {.timeout = Minutes(14)}); });
  EXPECT_THAT(text, AllOf(StartsWith("1 did not match within 14m\n"),
                          HasSubstr("Delays: 7m, no jitter")));
}

TEST_F(EventuallyDefaultsTest, YoungerScopeWinsOverAnOlderOne) {
  auto older = std::make_unique<ScopedEventuallyDefaults>(
      EventuallyOptions{.timeout = Hours(1), .clock = &clock_});
  const ScopedEventuallyDefaults younger({.timeout = Minutes(2)});
  EXPECT_EQ(LimitOf({}), "1 did not match within 2m");

  older.reset();
  EXPECT_EQ(LimitOf(OnClock()), "1 did not match within 2m");
}

// Each scope determines all delays.
TEST_F(EventuallyDefaultsTest, DelaysComeFromOneScopeAlone) {
  const ScopedEventuallyDefaults list(
      {.delay_source = DelayList({Seconds(2)}), .clock = &clock_});
  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2); }),
              HasSubstr("Polls: 4 in 5s"));

  const ScopedEventuallyDefaults backoff(
      {.backoff = {.initial_delay = Seconds(1), .max_delay = Seconds(1)}});
  EXPECT_THAT(FailureOf([&] { EXPECT_EVENTUALLY(1, 2); }),
              HasSubstr("Polls: 6 in 5s"));
}

TEST_F(EventuallyDefaultsTest, ReachAssertionsOfOtherThreads) {
  const ScopedEventuallyDefaults defaults(
      {.timeout = Hours(1), .clock = &clock_});
  std::string limit;
  std::thread([&] { limit = LimitOf({}); }).join();

  EXPECT_EQ(limit, "1 did not match within 1h");
}

TEST_F(EventuallyDefaultsTest, HoldForIsNotOneOfEventually) {
  const ScopedEventuallyDefaults defaults(
      {.hold_for = Minutes(1),
       .retry_exceptions = RetryOn<std::runtime_error>(),
       .clock = &clock_});

  EXPECT_EVENTUALLY(1, 1);
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
  int polls = 0;
  const auto get = [&] {
    if (++polls < 3) throw std::runtime_error("reset");
    return polls;
  };
  EXPECT_EVENTUALLY(get(), 3);
  EXPECT_CONSISTENTLY(1, 1, {.successes_required = 3});
  EXPECT_LT(clock_.Elapsed(), Seconds(1));
}

// Variables affect only real time, so that simulated time stays the same.
TEST_F(EventuallyDefaultsTest, VariablesSetDefaults) {
  const auto read = [](const char* timeout, const char* hold_for) {
    return ReadTestLimits({.timeout_scale = nullptr,
                           .test_timeout = nullptr,
                           .preload = nullptr,
                           .timeout = timeout,
                           .hold_for = hold_for});
  };
  EXPECT_EQ(read(nullptr, nullptr)->timeout, std::nullopt);
  EXPECT_EQ(read("30s", nullptr)->timeout, Seconds(30));
  EXPECT_EQ(read(nullptr, "200ms")->hold_for, absl::Milliseconds(200));
  for (const char* const value : {"", "30", "-1s", "0", "inf", "soon"}) {
    EXPECT_EQ(read(value, nullptr).status().message(),
              "WAITER_TEST_TIMEOUT is \"" + std::string(value) +
                  "\"; it must be a time above 0 with a unit, such as 30s or "
                  "500ms");
    EXPECT_THAT(read(nullptr, value).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }

  const ScopedEnvironment timeout("WAITER_TEST_TIMEOUT", "1ms");
  const ScopedEnvironment hold_for("WAITER_TEST_HOLD_FOR", "1ms");
  EXPECT_THAT(LimitOf({}), testing::EndsWith("ms"));
  EXPECT_EQ(LimitOf(OnClock()), "1 did not match within 5s");
  const absl::Time start = absl::Now();
  EXPECT_CONSISTENTLY(1, 1);
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(1));
}

}  // namespace
}  // namespace waiter::eventually_defaults_test
