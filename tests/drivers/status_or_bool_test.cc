// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Status functions that return `absl::StatusOr<bool>`: ready, not ready, or an
// error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::status_or_bool_test {
namespace {

using Answer = absl::StatusOr<bool>;

// Answers, and how the wait ends. The last answer repeats. Polls are one second
// apart.
struct Course {
  std::string name;
  std::vector<Answer> answers;
  int64_t polls;
  StopReason reason;
  absl::StatusCode code;
};

void PrintTo(const Course& course, std::ostream* out) { *out << course.name; }

std::vector<Course> Courses() {
  using absl::StatusCode;
  return {
      {"TrueIsASuccess", {true}, 1, StopReason::kSuccess, StatusCode::kOk},
      {"FalseIsNotReady",
       {false, false, true},
       3,
       StopReason::kSuccess,
       StatusCode::kOk},
      {"FalseForEverEndsAtTheDeadline",
       {false},
       4,
       StopReason::kDeadline,
       StatusCode::kDeadlineExceeded},
      {"UnavailableIsPolledAgain",
       {absl::UnavailableError("503"), false, true},
       3,
       StopReason::kSuccess,
       StatusCode::kOk},
      {"ResourceExhaustedIsPolledAgain",
       {absl::ResourceExhaustedError("429"), true},
       2,
       StopReason::kSuccess,
       StatusCode::kOk},
      {"OtherErrorsFail",
       {false, absl::NotFoundError("gone"), true},
       2,
       StopReason::kFailed,
       StatusCode::kNotFound},
  };
}

using StatusOrBoolFunction = std::function<Answer()>;
using Run = std::function<WaitReport(SimulatedClock&, WaitOptions,
                                     StatusOrBoolFunction)>;

struct Driver {
  std::string name;
  Run run;
};

void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.name; }

WaitReport Block(SimulatedClock& /*clock*/, WaitOptions options,
                 StatusOrBoolFunction poll) {
  Waiter wait(std::move(poll), std::move(options));
  static_assert(std::is_void_v<decltype(wait)::value_type>);
  return wait.Wait().report();
}

WaitReport RunEngine(bool on_executor, bool by_completion,
                     SimulatedClock& clock, WaitOptions options,
                     StatusOrBoolFunction poll) {
  WaitEngineOptions engine_options = {
      .threads = 0, .tick = absl::ZeroDuration(), .clock = &clock};
  if (on_executor) {
    engine_options.executor = [](absl::AnyInvocable<void()> task) { task(); };
  }
  WaitEngine engine(engine_options);
  std::optional<WaitReport> report;
  const auto take = [&report](WaitResult<> result) {
    report = std::move(result).report();
  };
  const WaitHandle wait =
      by_completion
          ? engine.Start(
                AsyncWaiter(
                    [poll](const PollCompletion<>& done) { done(poll()); },
                    options),
                take)
          : engine.Start(Waiter(poll, options), take);
  engine.Run();
  return *report;
}

std::vector<Driver> Drivers() {
  const auto engine = [](bool on_executor, bool by_completion) {
    return [=](SimulatedClock& clock, WaitOptions options,
               StatusOrBoolFunction poll) {
      return RunEngine(on_executor, by_completion, clock, std::move(options),
                       std::move(poll));
    };
  };
  return {{"Blocking", Block},
          {"Engine", engine(false, false)},
          {"Executor", engine(true, false)},
          {"Completion", engine(false, true)}};
}

class StatusOrBoolTest
    : public testing::TestWithParam<std::tuple<Driver, Course>> {};

TEST_P(StatusOrBoolTest, SaysReadyOrNotOrAnError) {
  const auto& [driver, course] = GetParam();
  SimulatedClock clock;
  const BackoffOptions every_second = Every(absl::Seconds(1));
  size_t polls = 0;

  const WaitReport report =
      driver.run(clock,
                 {.timeout = absl::Seconds(3),
                  .backoff = every_second,
                  .errors = {.server_error_backoff = every_second,
                             .throttled_backoff = every_second},
                  .clock = &clock},
                 [&polls, &answers = course.answers] {
                   return answers[std::min(polls++, answers.size() - 1)];
                 });

  EXPECT_EQ(report.attempts, course.polls);
  EXPECT_EQ(report.reason, course.reason);
  EXPECT_EQ(report.status.code(), course.code) << report.status;
}

INSTANTIATE_TEST_SUITE_P(All, StatusOrBoolTest,
                         testing::Combine(testing::ValuesIn(Drivers()),
                                          testing::ValuesIn(Courses())),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" +
                                  std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace waiter::status_or_bool_test
