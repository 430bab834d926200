// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/durable_output.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

namespace waiter::cli::durable_output_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Phase = DurableStatus::Phase;

const absl::Time kNow = absl::FromUnixSeconds(1'000'000'000);

DurableStatus Pending() {
  return {.key = "a",
          .phase = Phase::kPending,
          .enqueued = kNow - absl::Seconds(90),
          .due = kNow + absl::Seconds(4),
          .attempts = 3,
          .args = "a=http://u:secret@h/?b=secret",
          .last_poll = "refused"};
}

DurableStatus Delivered() {
  DurableStatus status = {.key = "a\x1b[2J",
                          .phase = Phase::kDelivered,
                          .enqueued = kNow - absl::Seconds(90),
                          .args = "pid:1"};
  DurableResult& result = status.result.emplace();
  result.value = absl::DeadlineExceededError("late");
  result.reason = StopReason::kDeadline;
  result.attempts = 1;
  result.elapsed = absl::Milliseconds(1500);
  result.idempotency_key = "s/n/a/1";
  return status;
}

TEST(DurableOutputTest, LineSaysHowAWaitStands) {
  EXPECT_EQ(DurableLine(Pending(), kNow),
            "pending    a  3 polls, due in 4s: refused");
  EXPECT_EQ(DurableLine(Pending(), kNow + absl::Seconds(9)),
            "pending    a  3 polls, overdue by 5s: refused");
  DurableStatus held = Pending();
  held.is_held = true;
  EXPECT_EQ(DurableLine(held, kNow), "pending    a  3 polls, held: refused");
  held.is_cancelled = true;
  EXPECT_EQ(DurableLine(held, kNow),
            "pending    a  3 polls, cancel requested: refused");
  EXPECT_EQ(DurableLine(Delivered(), kNow),
            "delivered  a\\x1b[2J  deadline after 1 poll: late");
  EXPECT_EQ(DurableLine({.key = "b"}, kNow), "unknown    b");
}

TEST(DurableOutputTest, TextHasAFieldInEachLine) {
  EXPECT_EQ(DurableText(Pending(), kNow),
            "key              a\n"
            "phase            pending\n"
            "target           a=http://h/?...\n"
            "added            1m30s ago\n"
            "polls            3\n"
            "turn             due in 4s\n"
            "last poll        refused\n");
  EXPECT_EQ(DurableText(Delivered(), kNow),
            "key              a\\x1b[2J\n"
            "phase            delivered\n"
            "target           pid:1\n"
            "added            1m30s ago\n"
            "result           deadline\n"
            "detail           late\n"
            "polls            1\n"
            "took             1.5s\n"
            "idempotency key  s/n/a/1\n");
}

TEST(DurableOutputTest, JsonHasTheSame) {
  EXPECT_EQ(DurableJson(Pending()),
            R"({"key":"a","phase":"pending","target":"a=http://h/?...",)"
            R"("added":"2001-09-09T01:45:10+00:00","attempts":3,)"
            R"("held":false,"cancelled":false,)"
            R"("due":"2001-09-09T01:46:44+00:00","last_poll":"refused"})");
  EXPECT_EQ(DurableJson({.key = "b"}), R"({"key":"b","phase":"unknown"})");
}

TEST(DurableOutputTest, StatsAreTextOrJson) {
  DurableLook look = {.name = "jobs",
                      .stats = {.pending = 5,
                                .undelivered = 1,
                                .overdue = 2,
                                .oldest = absl::Milliseconds(3500),
                                .kept = 7,
                                .polls = 90,
                                .counters = {{"enqueued", 12}, {"success", 8}}},
                      .polls_per_second = std::nullopt,
                      .workers = 3};
  const std::string text =
      "name             jobs\n"
      "pending          5\n"
      "overdue          2\n"
      "oldest           3.5s\n"
      "undelivered      1\n"
      "kept             7\n"
      "workers          3\n"
      "polls            90\n";
  const std::string counters =
      "enqueued         12\n"
      "success          8\n";
  EXPECT_EQ(DurableLookText(look), text + counters);
  const std::string json =
      R"({"name":"jobs","pending":5,"overdue":2,"oldest_ms":3500,)"
      R"("undelivered":1,"kept":7,"workers":3,"polls":90,"polls_per_s":)";
  EXPECT_EQ(DurableLookJson(look),
            json + R"(null,"counters":{"enqueued":12,"success":8}})");
  look.polls_per_second = 12.5;
  EXPECT_EQ(DurableLookText(look), text + "polls/s          12.5\n" + counters);
  EXPECT_EQ(DurableLookJson(look),
            json + R"(12.5,"counters":{"enqueued":12,"success":8}})");
}

TEST(DurableOutputTest, WaitsThatWereAddedAreJson) {
  EXPECT_EQ(DurableAddedJson("jobs", 2, 1),
            R"({"name":"jobs","added":2,"known":1})");
}

TEST(DurableOutputTest, CheckIsTextOrJson) {
  DurableCheckReport report;
  report.servers = {{.id = "1", .description = "Redis 7.0.15", .faults = {}}};
  report.records = 12;
  EXPECT_EQ(DurableCheckText(report, /*repairs=*/false),
            "server           Redis 7.0.15\n"
            "records          12, no damage\n");
  EXPECT_EQ(DurableCheckJson("jobs", report, /*repairs=*/false),
            R"({"name":"jobs","clean":true,"records":12,"found":0,)"
            R"("repaired":0,"uncounted":0,"servers":[{"description":)"
            R"("Redis 7.0.15","faults":[]}],"findings":[]})");

  report.servers[0].faults = {"appendonly is no"};
  report.findings = {
      {.fault = WaitFault::kLeftover, .partition = 3, .key = "a\x1b[2J"},
      {.fault = WaitFault::kMiscounted, .partition = 4, .missing = 2}};
  report.found = 5;
  report.uncounted = 6;
  const std::string text = DurableCheckText(report, /*repairs=*/true);
  EXPECT_THAT(text, HasSubstr("setting          appendonly is no\n"
                              "leftover         a\\x1b[2J left"));
  EXPECT_THAT(text, HasSubstr("\nmiscounted       partition 4: 2 waits were"));
  EXPECT_THAT(text, EndsWith("\nmore             3 like these\n"
                             "not counted      6 partitions, because waits "
                             "were added or ended during the check\n"
                             "records          12, 5 findings, repaired\n"));
  EXPECT_THAT(DurableCheckJson("jobs", report, /*repairs=*/true),
              AllOf(HasSubstr(R"("clean":false)"),
                    HasSubstr(R"("found":5,"repaired":5,"uncounted":6)"),
                    HasSubstr(R"("faults":["appendonly is no"])"),
                    HasSubstr(R"({"fault":"leftover","partition":3,)"),
                    HasSubstr(R"({"fault":"miscounted","partition":4,)"
                              R"("missing":2})")));
}

}  // namespace
}  // namespace waiter::cli::durable_output_test
