// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Logs the waits of a program with its own logger.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/observer.h"
#include "waiter/telemetry/log_observer.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace program_logs_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string>& Logged() {
  static auto& logged = *new std::vector<std::string>;
  return logged;
}

void MyLog(absl::LogSeverity severity, std::string_view line) {
  Logged().push_back(std::string(absl::LogSeverityName(severity)) + " " +
                     std::string(line));
}

void LogWaits() {
  waiter::ObserveEveryWait(std::make_shared<waiter::LogObserver>(
      waiter::LogOptions{.sink = MyLog, .success = std::nullopt}));
}

TEST(ProgramLogsTest, WaitsThatFailAreInTheLogOfTheProgram) {
  waiter::SimulatedClock clock;
  LogWaits();

  (void)waiter::Waiter(
      [] { return true; },
      {.name = "quick", .timeout = absl::Seconds(1), .clock = &clock})
      .Wait();
  (void)waiter::Waiter(
      [] { return waiter::Failed(); },
      {.name = "job", .timeout = absl::Seconds(1), .clock = &clock})
      .Wait();
  waiter::ObserveEveryWait(nullptr);

  EXPECT_THAT(Logged(), ElementsAre(testing::StartsWith(
                            "WARNING job: failed after 0s and 1 poll")));
}

}  // namespace
}  // namespace program_logs_test
