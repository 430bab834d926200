// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/options.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"

namespace waiter::options_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const absl::Duration kForever = absl::InfiniteDuration();

struct InvalidCase {
  std::string_view field;
  std::string_view value;
  std::function<void(WaitOptions&)> set;
};

std::vector<InvalidCase> InvalidCases() {
  return {
      {"max_attempts", "0", [](auto& o) { o.max_attempts = 0; }},
      {"max_attempts", "-1", [](auto& o) { o.max_attempts = -1; }},
      {"errors.max_consecutive_server_errors", "0",
       [](auto& o) { o.errors.max_consecutive_server_errors = 0; }},
      {"backoff.initial_delay", "-1ns",
       [](auto& o) { o.backoff.initial_delay = -absl::Nanoseconds(1); }},
      {"backoff.initial_delay", "inf",
       [](auto& o) { o.backoff.initial_delay = kForever; }},
      // Abseil turns not-a-number into an infinity with the same sign.
      {"backoff.initial_delay", "",
       [](auto& o) { o.backoff.initial_delay = absl::Seconds(kNan); }},
      {"backoff.max_delay", "99ms",
       [](auto& o) { o.backoff.max_delay = absl::Milliseconds(99); }},
      {"backoff.max_delay", "-inf",
       [](auto& o) { o.backoff.max_delay = -kForever; }},
      {"backoff.multiplier", "0.5",
       [](auto& o) { o.backoff.multiplier = 0.5; }},
      {"backoff.multiplier", "-2", [](auto& o) { o.backoff.multiplier = -2; }},
      {"backoff.multiplier", "nan",
       [](auto& o) { o.backoff.multiplier = kNan; }},
      {"backoff.multiplier", "inf",
       [](auto& o) { o.backoff.multiplier = kInfinity; }},
      {"backoff.jitter", "1.5",
       [](auto& o) { o.backoff.jitter = Jitter::Full(1.5); }},
      {"backoff.jitter", "-0.1",
       [](auto& o) { o.backoff.jitter = Jitter::Proportional(-0.1); }},
      {"backoff.jitter", "nan",
       [](auto& o) { o.backoff.jitter = Jitter::Full(kNan); }},
      {"backoff.min_delay", "-1s",
       [](auto& o) { o.backoff.min_delay = -absl::Seconds(1); }},
      {"backoff.min_delay", "11s",
       [](auto& o) { o.backoff.min_delay = absl::Seconds(11); }},
      {"errors.server_error_backoff.multiplier", "0",
       [](auto& o) { o.errors.server_error_backoff.multiplier = 0; }},
      {"errors.throttled_backoff.max_delay", "0",
       [](auto& o) {
         o.errors.throttled_backoff.max_delay = absl::ZeroDuration();
       }},
      {"errors.retry_after.max_retry_after", "0",
       [](auto& o) {
         o.errors.retry_after.max_retry_after = absl::ZeroDuration();
       }},
      {"errors.retry_after.max_retry_after", "inf",
       [](auto& o) { o.errors.retry_after.max_retry_after = kForever; }},
      {"errors.retry_after.overshoot", "-1s",
       [](auto& o) { o.errors.retry_after.overshoot = -absl::Seconds(1); }},
      {"polls.first_delay", "-1s",
       [](auto& o) { o.polls.first_delay = -absl::Seconds(1); }},
      {"polls.first_delay", "inf",
       [](auto& o) { o.polls.first_delay = kForever; }},
      {"confirm.successes", "0", [](auto& o) { o.confirm.successes = 0; }},
      {"confirm.hold_for", "-1s",
       [](auto& o) { o.confirm.hold_for = -absl::Seconds(1); }},
      {"confirm.hold_for", "inf",
       [](auto& o) { o.confirm.hold_for = kForever; }},
      {"polls.last_lead", "-1s",
       [](auto& o) { o.polls.last_lead = -absl::Seconds(1); }},
      {"poll_timeout", "-1s",
       [](auto& o) { o.poll_timeout = -absl::Seconds(1); }},
      {"polls.last_timeout", "-1s",
       [](auto& o) { o.polls.last_timeout = -absl::Seconds(1); }},
      {"polls.last_timeout", "inf",
       [](auto& o) { o.polls.last_timeout = kForever; }},
      {"hooks.history_limit", "-1",
       [](auto& o) { o.hooks.history_limit = -1; }},
  };
}

TEST(OptionsTest, EveryInvalidFieldIsNamedWithItsValue) {
  for (const InvalidCase& test : InvalidCases()) {
    WaitOptions options = {.timeout = absl::Minutes(1)};
    test.set(options);

    const absl::Status status = Validate(options);

    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << test.field;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith(absl::StrCat(std::string(test.field), " is ",
                                              std::string(test.value))),
                      HasSubstr("; it must be ")));
  }
}

TEST(OptionsTest, UnsetTimeoutSaysHowToWaitForever) {
  EXPECT_THAT(std::string(Validate(WaitOptions{}).message()),
              HasSubstr("timeout is not set; give the time that the whole wait "
                        "may take, or absl::InfiniteDuration()"));
}

TEST(OptionsTest, TimeoutOrDeadlineIsEnough) {
  EXPECT_TRUE(Validate({.timeout = absl::InfiniteDuration()}).ok());
  EXPECT_TRUE(Validate({.timeout = absl::ZeroDuration()}).ok());
  EXPECT_TRUE(Validate({.timeout = -absl::InfiniteDuration()}).ok());
  EXPECT_TRUE(Validate({.deadline = absl::InfinitePast()}).ok());
  EXPECT_TRUE(Validate({.timeout = absl::Seconds(1),
                        .deadline = absl::InfiniteFuture()})
                  .ok());
}

TEST(OptionsTest, EdgesOfTheRangesAreValid) {
  EXPECT_TRUE(Validate({.timeout = absl::Seconds(1),
                        .max_attempts = 1,
                        .backoff = {.initial_delay = absl::ZeroDuration(),
                                    .max_delay = absl::ZeroDuration(),
                                    .multiplier = 1.0,
                                    .jitter = Jitter::Proportional(1.0)}})
                  .ok());
  EXPECT_TRUE(Validate({.timeout = absl::Seconds(1),
                        .backoff = {.max_delay = absl::InfiniteDuration()}})
                  .ok());
}

}  // namespace
}  // namespace waiter::options_test
