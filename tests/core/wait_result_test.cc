// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <concepts>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/classify.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::wait_result_test {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::string Printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

WaitResult<int> TimedOut(SimulatedClock& clock) {
  return Waiter([]() -> Poll<int> { return NotReady("CREATING"); },
                {.name = "job",
                 .timeout = absl::Seconds(3),
                 .backoff = Every(absl::Seconds(1)),
                 .clock = &clock})
      .Wait();
}

TEST(WaitResultDeathTest, ValueOfAFailedWaitEndsTheProgramWithItsStatus) {
  SimulatedClock clock;
  WaitResult<int> result = TimedOut(clock);
  const char* const expected = "job: timeout of 3s reached after 4 attempts";

  EXPECT_DEATH((void)result.value(), expected);
  EXPECT_DEATH((void)*result, expected);
  EXPECT_DEATH((void)*result.operator->(), expected);
  EXPECT_DEATH((void)std::move(result).value(), expected);
  EXPECT_DEATH((void)*std::as_const(result), expected);
}

TEST(WaitResultTest, ValueMovesOutOfATemporary) {
  Waiter wait([] { return Success(std::make_unique<int>(7)); },
              {.timeout = absl::ZeroDuration()});

  const std::unique_ptr<int> value = *wait.Wait();
  EXPECT_EQ(*value, 7);
}

// The status function of a wait without a value provides none.
TEST(WaitResultTest, ResultWithoutAValueIsNoStatusOr) {
  static_assert(std::convertible_to<WaitResult<int>, absl::StatusOr<int>>);
  static_assert(std::convertible_to<WaitResult<>, absl::Status>);
  static_assert(!std::convertible_to<WaitResult<>, absl::StatusOr<int>>);
  static_assert(
      !std::convertible_to<const WaitResult<>&, absl::StatusOr<std::string>>);
}

TEST(WaitReportTest, PrintsOneLine) {
  SimulatedClock clock;
  const WaitReport report = TimedOut(clock).report();

  EXPECT_EQ(Printed(report),
            "deadline after 4 attempts (4 not ready) in 3s, slept 3s, longest "
            "poll 0: DEADLINE_EXCEEDED: job: timeout of 3s reached after 4 "
            "attempts in 3s; last poll: not ready: CREATING");
  WaitReport late;
  late.reason = StopReason::kSuccess;
  late.late = true;
  EXPECT_EQ(Printed(late),
            "success (late) after 0 attempts in 0, slept 0, longest poll 0");
}

TEST(WaitReportTest, EnumeratorsPrintTheirNames) {
  EXPECT_EQ(Printed(StopReason::kConsecutiveLimit), "consecutive limit");
  EXPECT_EQ(Printed(PollStatus::kServerError), "server error");
  EXPECT_EQ(testing::PrintToString(StopReason::kQuota), "quota");
}

// An inner wait that has used up its attempts has tried often enough. A service
// that throttles has not.
TEST(WaitReportTest, LimitsOfAWaitAreNotThrottling) {
  SimulatedClock clock;
  const auto inner = [&](WaitOptions options) -> absl::Status {
    options.timeout = absl::Hours(1);
    options.clock = &clock;
    return Waiter([] { return ServerError("503"); }, std::move(options)).Wait();
  };

  const absl::Status attempts = inner({.max_attempts = 2});
  const absl::Status errors =
      inner({.errors = {.max_consecutive_server_errors = 3}});
  const absl::Status rule =
      inner({.delay_source = [](const DelayRequest&, absl::BitGenRef) {
        return std::optional<absl::Duration>();
      }});
  EXPECT_EQ(LimitOf(attempts), StopReason::kAttempts);
  EXPECT_EQ(LimitOf(errors), StopReason::kConsecutiveLimit);
  EXPECT_EQ(LimitOf(rule), StopReason::kDelaySource);
  for (const absl::Status& status : {attempts, errors, rule}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(FromStatus(status).status(), PollStatus::kFailed);
  }
  const absl::Status throttled = absl::ResourceExhaustedError("429");
  EXPECT_EQ(LimitOf(throttled), std::nullopt);
  EXPECT_EQ(LimitOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(FromStatus(throttled).status(), PollStatus::kThrottled);
}

TEST(WaitReportTest, WaitAroundAnExhaustedWaitEndsAtOnce) {
  SimulatedClock clock;
  int inner_waits = 0;

  const WaitResult<> result =
      Waiter(
          [&]() -> absl::Status {
            ++inner_waits;
            return Waiter([] { return false; },
                          {.timeout = absl::Hours(1),
                           .max_attempts = 2,
                           .backoff = Every(absl::Seconds(1)),
                           .clock = &clock})
                .Wait();
          },
          {.timeout = absl::Hours(10), .clock = &clock})
          .Wait();

  EXPECT_EQ(inner_waits, 1);
  EXPECT_EQ(result.reason(), StopReason::kFailed);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("max_attempts of 2"));
}

TEST(WaitResultTest, StatusOfATemporaryIsAValue) {
  using Status = decltype(std::declval<WaitResult<>>().status());
  static_assert(std::same_as<Status, absl::Status>);
}

// A wrapper may have copied the payloads of a status to another one.
TEST(WaitResultTest, OnlyExhaustionIsALimit) {
  SimulatedClock clock;
  const absl::Status exhausted =
      Waiter([] { return false; },
             {.timeout = absl::Seconds(9), .max_attempts = 1, .clock = &clock})
          .Wait()
          .status();
  ASSERT_EQ(LimitOf(exhausted), StopReason::kAttempts);
  absl::Status wrapped = absl::UnavailableError("wrapped");
  exhausted.ForEachPayload([&](absl::string_view url, const absl::Cord& cord) {
    wrapped.SetPayload(url, cord);
  });

  EXPECT_EQ(LimitOf(wrapped), std::nullopt);
}

// A rule decides the delays, so the hint did not end the wait.
TEST(WaitResultTest, HintIsNotBlamedForTheEndOfTheLastPoll) {
  SimulatedClock clock;
  WaitOptions options = {.timeout = absl::Seconds(10),
                         .polls = {.last_lead = absl::Seconds(1)},
                         .clock = &clock};
  options.delay_source = [](const DelayRequest&, absl::BitGenRef) {
    return absl::Seconds(3);
  };
  const WaitResult<> result =
      Waiter([] { return NotReady("", absl::Seconds(5)); }, options).Wait();

  EXPECT_EQ(result.report().attempts, 4);
  EXPECT_THAT(result.status().message(),
              HasSubstr("timeout of 10s leaves no time for another poll"));
}

}  // namespace
}  // namespace waiter::wait_result_test
