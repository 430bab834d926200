// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/logged_waits.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/output/run_log.h"
#include "gtest/gtest.h"

namespace waiter::cli::logged_waits_test {
namespace {

// A line of a log: a poll that began 100 ms before `ended`.
std::string Line(std::string_view target, int attempt, absl::Duration ended,
                 std::string_view log_class) {
  return absl::StrCat(R"({"event":"poll","target":")", target,
                      R"(","attempt":)", attempt, R"(,"elapsed_ms":)",
                      absl::ToInt64Milliseconds(ended),
                      R"(,"latency_ms":100,"class":")", log_class, "\"}\n");
}

std::vector<LoggedWait> Read(const std::string& text) {
  const absl::StatusOr<RunLog> log = ParseRunLog(text, "log");
  EXPECT_TRUE(log.ok()) << log.status();
  return WaitsOf(*log);
}

TEST(LoggedWaitsTest, EndLiesBetweenTheLastTwoPolls) {
  const std::vector<LoggedWait> waits =
      Read(Line("db", 1, absl::Seconds(0.1), "NOT_READY") +
           Line("db", 2, absl::Seconds(5), "NOT_READY") +
           Line("db", 3, absl::Seconds(7), "SERVER_ERROR") +
           Line("db", 4, absl::Seconds(9), "SUCCESS"));
  ASSERT_EQ(waits.size(), 1);
  EXPECT_EQ(waits[0].target, "db");
  EXPECT_EQ(waits[0].polls, 3);
  EXPECT_EQ(waits[0].duration.after, absl::Seconds(4.9));
  EXPECT_EQ(waits[0].duration.by, absl::Seconds(9));
}

TEST(LoggedWaitsTest, HoldBeginsWithTheFirstSuccess) {
  const std::vector<LoggedWait> waits =
      Read(Line("db", 1, absl::Seconds(1), "SUCCESS") +
           Line("db", 2, absl::Seconds(2), "NOT_READY") +
           Line("db", 3, absl::Seconds(3), "SUCCESS") +
           Line("db", 4, absl::Seconds(4), "SUCCESS"));
  ASSERT_EQ(waits.size(), 1);
  EXPECT_EQ(waits[0].duration.by, absl::Seconds(3));
}

TEST(LoggedWaitsTest, WaitThatEndedInVainHasNoEnd) {
  const std::vector<LoggedWait> waits =
      Read(Line("db", 1, absl::Seconds(1), "NOT_READY") +
           Line("db", 2, absl::Seconds(2), "NOT_READY") +
           Line("db", 3, absl::Seconds(3), "FATAL"));
  ASSERT_EQ(waits.size(), 1);
  EXPECT_FALSE(waits[0].has_end());
  EXPECT_EQ(waits[0].duration.after, absl::Seconds(1.9));
}

TEST(LoggedWaitsTest, LogsOfSeveralRunsMayFollowEachOther) {
  const std::vector<LoggedWait> waits =
      Read(Line("db", 1, absl::Seconds(1), "NOT_READY") +
           Line("web", 1, absl::Seconds(2), "SUCCESS") +
           Line("db", 2, absl::Seconds(3), "SUCCESS") +
           Line("db", 1, absl::Seconds(4), "NOT_READY") +
           Line("db", 2, absl::Seconds(8), "SUCCESS") +
           Line("db", 3, absl::Seconds(2), "NOT_READY") +
           Line("db", 4, absl::Seconds(6), "SUCCESS"));
  ASSERT_EQ(waits.size(), 3) << "web tells nothing";
  EXPECT_EQ(waits[0].duration.by, absl::Seconds(3));
  EXPECT_EQ(waits[1].duration.by, absl::Seconds(8));
  EXPECT_EQ(waits[2].duration.by, absl::Seconds(6));
}

}  // namespace
}  // namespace waiter::cli::logged_waits_test
