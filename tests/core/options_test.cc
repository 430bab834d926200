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

namespace waiter {
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

TEST(OptionsTest, EveryInvalidFieldIsNamedWithItsValue) {
  const std::vector<InvalidCase> cases = {
      {"max_attempts", "0", [](auto& o) { o.max_attempts = 0; }},
      {"max_attempts", "-1", [](auto& o) { o.max_attempts = -1; }},
      {"max_consecutive_server_errors", "0",
       [](auto& o) { o.max_consecutive_server_errors = 0; }},
      {"backoff.initial_delay", "-1ns",
       [](auto& o) { o.backoff.initial_delay = -absl::Nanoseconds(1); }},
      {"backoff.initial_delay", "inf",
       [](auto& o) { o.backoff.initial_delay = kForever; }},
      // Abseil turns not-a-number into an infinity whose sign is that of
      // the not-a-number.
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
      {"server_error.multiplier", "0",
       [](auto& o) { o.server_error.multiplier = 0; }},
      {"throttled.max_delay", "0",
       [](auto& o) { o.throttled.max_delay = absl::ZeroDuration(); }},
      {"retry_after.max_retry_after", "0",
       [](auto& o) { o.retry_after.max_retry_after = absl::ZeroDuration(); }},
      {"retry_after.max_retry_after", "inf",
       [](auto& o) { o.retry_after.max_retry_after = kForever; }},
      {"retry_after.overshoot", "-1s",
       [](auto& o) { o.retry_after.overshoot = -absl::Seconds(1); }},
      {"first_poll_delay", "-1s",
       [](auto& o) { o.first_poll_delay = -absl::Seconds(1); }},
      {"first_poll_delay", "inf",
       [](auto& o) { o.first_poll_delay = kForever; }},
      {"successes_required", "0", [](auto& o) { o.successes_required = 0; }},
      {"hold_for", "-1s", [](auto& o) { o.hold_for = -absl::Seconds(1); }},
      {"hold_for", "inf", [](auto& o) { o.hold_for = kForever; }},
      {"final_poll_lead", "-1s",
       [](auto& o) { o.final_poll_lead = -absl::Seconds(1); }},
      {"poll_timeout", "-1s",
       [](auto& o) { o.poll_timeout = -absl::Seconds(1); }},
      {"final_poll_timeout", "-1s",
       [](auto& o) { o.final_poll_timeout = -absl::Seconds(1); }},
      {"final_poll_timeout", "inf",
       [](auto& o) { o.final_poll_timeout = kForever; }},
      {"history_limit", "-1", [](auto& o) { o.history_limit = -1; }},
  };
  for (const InvalidCase& test : cases) {
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
}  // namespace waiter
