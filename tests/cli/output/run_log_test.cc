// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/run_log.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::run_log_test {
namespace {

TEST(RunLogTest, LogParsesIntoEvents) {
  const absl::StatusOr<RunLog> log = ParseRunLog(
      R"({"event":"poll","elapsed_ms":1500,"target":"db","class":"THROTTLED","detail":"busy","latency_ms":2.5,"next_ms":400})"
      "\r\n\n"
      R"({"event":"poll","elapsed_ms":2500,"target":"db","class":"FATAL"})"
      "\n"
      R"({"event":"poll","elapsed_ms":3500,"target":"db","class":"SUCCESS","attempt":7})"
      "\n"
      R"({"event":"new","elapsed_ms":9000,"more":[1,{}]})"
      "\n"
      R"({"event":"summary","elapsed_ms":8000,"exit_code":3,"reason":"budget"})",
      "x");

  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_EQ(log->polls.size(), 3);
  const LoggedPoll& first = log->polls[0];
  EXPECT_EQ(first.target, "db");
  EXPECT_EQ(first.attempt, 1);
  EXPECT_EQ(first.elapsed, absl::Seconds(1.5));
  EXPECT_EQ(first.status, PollStatus::kThrottled);
  EXPECT_EQ(first.detail, "busy");
  EXPECT_EQ(first.latency, absl::Milliseconds(2.5));
  EXPECT_EQ(first.next, absl::Milliseconds(400));
  EXPECT_EQ(log->polls[1].attempt, 2);
  EXPECT_EQ(log->polls[1].status, PollStatus::kFailed);
  EXPECT_FALSE(log->polls[1].latency.has_value());
  EXPECT_EQ(log->polls[2].attempt, 7);
  EXPECT_EQ(log->elapsed, absl::Seconds(9));
  EXPECT_EQ(log->exit_code, 3);
  EXPECT_EQ(log->reason, "budget");
}

TEST(RunLogTest, ErrorNamesTheLine) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"\n\nx", "log:3: at byte 0: invalid literal"},
      {"[]", "log:1: not a JSON object"},
      {"{}", "log:1: \"event\" is missing"},
      {R"({"event":1})", "log:1: \"event\" is not a string"},
      {R"({"event":"poll"})", "log:1: \"elapsed_ms\" is missing"},
      {R"({"v":2,"event":"poll"})",
       "log:1: version 2 is unknown; this program reads version 1"},
      {R"({"event":"x","elapsed_ms":-1})",
       "log:1: \"elapsed_ms\" is not a number from 0 to 3.15576e+12"},
      {R"({"event":"poll","elapsed_ms":1})", "log:1: \"target\" is missing"},
      {R"({"event":"poll","elapsed_ms":1,"target":"a","class":"ready"})",
       "log:1: \"class\" must be SUCCESS, NOT_READY, THROTTLED, "
       "SERVER_ERROR or FATAL"},
      {R"({"event":"poll","elapsed_ms":1,"target":"a","class":"FATAL","attempt":0})",
       "log:1: \"attempt\" is not a number from 1 to 1e+15"},
      {R"({"event":"summary","elapsed_ms":1})",
       "log:1: \"exit_code\" is missing"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = ParseRunLog(text, "log").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message(), message);
  }
}

TEST(RunLogTest, EmptyTextIsAnEmptyLog) {
  EXPECT_TRUE(ParseRunLog("", "log")->polls.empty());
  EXPECT_TRUE(ParseRunLog("\n \n", "log")->polls.empty());
}

}  // namespace
}  // namespace waiter::cli::run_log_test
