// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/plain_progress.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/played_run.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli::plain_progress_test {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

constexpr absl::Duration kSecond = absl::Seconds(1);

struct Played : cli::Played<PlainProgress> {
  explicit Played(const std::vector<std::string>& targets,
                  PlainProgress::Lines lines = PlainProgress::Lines::kChanges)
      : cli::Played<PlainProgress>(targets, lines) {}
};

TEST(PlainProgressTest, ChangesAndHeartbeatsAreLines) {
  Played played({"db=tcp://127.0.0.1:5432", "http://web/"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, absl::Milliseconds(2), {.detail = "refused"}, 9 * kSecond);
  run.Poll(1, absl::Milliseconds(30),
           {.status = PollStatus::kServerError, .detail = "HTTP 502"},
           30 * kSecond);
  run.TickTo(absl::Milliseconds(4500));
  run.Poll(0, absl::Milliseconds(4500), {.detail = "refused"});
  run.Poll(0, absl::Milliseconds(5500), {.detail = "starting up"}, 6 * kSecond);
  run.TickTo(12 * kSecond);
  run.LastPoll(0, 12 * kSecond, {.status = PollStatus::kSuccess});
  run.TickTo(absl::Minutes(5));
  run.LastPoll(1, absl::Minutes(5), {.status = PollStatus::kSuccess});
  run.Done("ready", 0);

  EXPECT_EQ(played.err.str(),
            "waiter: waiting for db (tcp://127.0.0.1:5432), http://web/, at "
            "most 5m\n"
            "waiter: 2ms: db: NOT_READY: refused\n"
            "waiter: 30ms: http://web/: SERVER_ERROR: HTTP 502\n"
            "waiter: 5.5s: db: NOT_READY: starting up\n"
            "waiter: 10s: 0 of 2 ready; db: NOT_READY: starting up (poll 3, "
            "next 2s); http://web/: SERVER_ERROR: HTTP 502 (poll 1, next "
            "21s)\n"
            "waiter: 12s: db: ready after 4 polls\n"
            "waiter: 30s: 1 of 2 ready; http://web/: SERVER_ERROR: HTTP 502 "
            "(poll 1, next 1s)\n"
            "waiter: 1m: 1 of 2 ready; http://web/: SERVER_ERROR: HTTP 502 "
            "(poll 1, next now)\n"
            "waiter: 2m: 1 of 2 ready; http://web/: SERVER_ERROR: HTTP 502 "
            "(poll 1, next now)\n"
            "waiter: 4m: 1 of 2 ready; http://web/: SERVER_ERROR: HTTP 502 "
            "(poll 1, next now)\n"
            "waiter: 5m: http://web/: ready after 2 polls\n"
            "waiter: 5m: 2 of 2 targets ready\n");
}

TEST(PlainProgressTest, VerboseHasALineForEachPoll) {
  Played played({"db"}, PlainProgress::Lines::kPolls);
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, kSecond, {.detail = "refused"}, 2 * kSecond);
  run.Poll(0, 3 * kSecond, {.detail = "refused", .progress = 0.667});
  run.LastPoll(0, 4 * kSecond, {.status = PollStatus::kSuccess});
  run.Done("ready", 0);

  EXPECT_EQ(
      played.err.str(),
      "waiter: waiting for db, at most 5m\n"
      "waiter: 1s: db: poll 1: NOT_READY: refused (took 1ms, next in 2s)\n"
      "waiter: 3s: db: poll 2: NOT_READY: 66% refused (took 1ms, next in "
      "1s)\n"
      "waiter: 4s: db: poll 3: SUCCESS (took 1ms)\n"
      "waiter: 4s: db: ready after 3 polls\n");
}

TEST(PlainProgressTest, StartNamesTheTargetsAndTheLimit) {
  struct Case {
    size_t needed;
    bool gone;
    absl::Duration timeout;
    const char* line;
  };
  const std::vector<Case> cases = {
      {4, false, absl::Minutes(5),
       "waiter: waiting for a, b, c, 1 more, at most 5m\n"},
      {1, false, absl::InfiniteDuration(),
       "waiter: waiting for 1 of a, b, c, 1 more, without a limit\n"},
      {4, true, absl::ZeroDuration(),
       "waiter: waiting until gone: a, b, c, 1 more, polling once\n"},
  };
  for (const Case& c : cases) {
    Played played({"a", "b", "c", "d"});
    played.run.state.needed = c.needed;
    played.run.state.gone = c.gone;
    played.run.state.timeout = c.timeout;
    played.run.Start();
    EXPECT_EQ(played.err.str(), c.line);
  }
}

TEST(PlainProgressTest, TargetWaitedToBeGoneIsCalledGone) {
  Played played({"a"});
  played.run.state.gone = true;
  played.run.Start();
  played.run.LastPoll(0, kSecond, {.status = PollStatus::kSuccess});
  EXPECT_THAT(played.err.str(),
              HasSubstr("waiter: 1s: a: gone after 1 poll\n"));
}

TEST(PlainProgressTest, SuccessThatMustHoldIsAChange) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, kSecond, {.status = PollStatus::kSuccess, .detail = "HTTP 200"});
  run.Poll(0, 2 * kSecond, {.detail = "HTTP 503"});
  EXPECT_EQ(played.Lines()[1], "waiter: 1s: a: SUCCESS: HTTP 200");
  EXPECT_EQ(played.Lines()[2], "waiter: 2s: a: NOT_READY: HTTP 503");
}

// A detail that changes with every poll is printed at 0, 1, 3, 7, 15, 31 and
// 63 s, and then every minute.
TEST(PlainProgressTest, DetailThatChangesWithEveryPollDoesNotFlood) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  for (int i = 0; i <= 3000; ++i) {
    run.TickTo(i * absl::Milliseconds(100));
    run.Poll(0, i * absl::Milliseconds(100),
             {.detail = absl::StrCat("at ", i)});
  }
  std::vector<std::string> changes;
  for (const std::string& line : played.Lines()) {
    if (absl::StrContains(line, ": a: ")) changes.push_back(line);
  }
  EXPECT_THAT(changes, ElementsAre("waiter: 0: a: NOT_READY: at 0",
                                   "waiter: 1s: a: NOT_READY: at 9",
                                   "waiter: 3s: a: NOT_READY: at 29",
                                   "waiter: 7s: a: NOT_READY: at 69",
                                   "waiter: 15s: a: NOT_READY: at 149",
                                   "waiter: 31s: a: NOT_READY: at 309",
                                   "waiter: 1m3s: a: NOT_READY: at 629",
                                   "waiter: 2m3s: a: NOT_READY: at 1229",
                                   "waiter: 3m3s: a: NOT_READY: at 1829",
                                   "waiter: 4m3s: a: NOT_READY: at 2429"));
}

TEST(PlainProgressTest, WithheldChangeIsPrintedLater) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, absl::ZeroDuration(), {.detail = "one"});
  run.Poll(0, absl::Milliseconds(100), {.detail = "two"});
  run.Poll(0, absl::Milliseconds(200), {.detail = "three"});
  run.TickTo(9 * kSecond);
  EXPECT_THAT(played.Lines(), ElementsAre(_, "waiter: 0: a: NOT_READY: one",
                                          "waiter: 1s: a: NOT_READY: three"));
}

TEST(PlainProgressTest, WithheldChangeThatRevertsIsDropped) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, absl::ZeroDuration(), {.detail = "one"});
  run.Poll(0, absl::Milliseconds(100), {.detail = "two"});
  run.Poll(0, absl::Milliseconds(200), {.detail = "one"});
  run.TickTo(9 * kSecond);
  EXPECT_THAT(played.Lines(), SizeIs(2));
}

TEST(PlainProgressTest, NewClassIsNotWithheld) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  for (int i = 0; i < 10; ++i) {
    const absl::Duration at = i * absl::Milliseconds(10);
    run.Poll(0, at, {.detail = "HTTP 404"});
    run.Poll(0, at, {.status = PollStatus::kThrottled, .detail = "HTTP 429"});
  }
  run.LastPoll(0, absl::Milliseconds(110),
               {.status = PollStatus::kFailed, .detail = "HTTP 401"},
               StopReason::kFailed);
  run.Done("failed", 1);
  EXPECT_THAT(played.Lines(),
              ElementsAre(_, "waiter: 0: a: NOT_READY: HTTP 404",
                          "waiter: 0: a: THROTTLED: HTTP 429",
                          "waiter: 110ms: a: FATAL: HTTP 401"));
}

TEST(PlainProgressTest, EndOfTheWaitDropsWithheldChanges) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, absl::ZeroDuration(), {.detail = "one"});
  run.Poll(0, absl::Milliseconds(100), {.detail = "two"});
  run.End(0, StopReason::kCancelled);
  run.TickTo(9 * kSecond);
  EXPECT_THAT(played.Lines(), ElementsAre(_, "waiter: 0: a: NOT_READY: one"));
}

TEST(PlainProgressTest, FailureIsAlwaysPrinted) {
  Played played(Numbered(200));
  PlayedRun& run = played.run;
  run.Start();
  for (size_t i = 0; i < run.state.targets.size(); ++i)
    run.Poll(i, kSecond, {});
  run.LastPoll(7, kSecond, {.status = PollStatus::kFailed, .detail = "gone"},
               StopReason::kFailed);
  EXPECT_THAT(played.Lines(), SizeIs(1 + 100 + 1));
  EXPECT_EQ(played.Lines().back(), "waiter: 1s: t7: FATAL: gone");
}

TEST(PlainProgressTest, QuietMinuteEndsTheWithholding) {
  Played played({"a"});
  PlayedRun& run = played.run;
  run.Start();
  for (int i = 0; i < 20; ++i) {
    run.Poll(0, i * kSecond, {.detail = absl::StrCat(i)});
  }
  run.TickTo(absl::Minutes(3));
  const size_t before = played.Lines().size();
  run.Poll(0, absl::Minutes(3), {.detail = "new"});
  run.TickTo(absl::Minutes(3) + kSecond);
  run.Poll(0, absl::Minutes(3) + kSecond, {.detail = "newer"});
  EXPECT_EQ(played.Lines().size(), before + 2);
}

TEST(PlainProgressTest, ThousandTargetsDoNotFlood) {
  Played played(Numbered(1000));
  PlayedRun& run = played.run;
  run.Start();
  for (size_t i = 0; i < run.state.targets.size(); ++i) {
    run.Poll(i, kSecond, {.detail = std::string(1000, 'x')});
  }
  // The start, 100 lines in a burst, one for each second, and the heartbeat.
  EXPECT_THAT(played.Lines(), SizeIs(101));
  run.TickTo(11 * kSecond);
  EXPECT_THAT(played.Lines(), SizeIs(1 + 100 + 10 + 1));
  EXPECT_THAT(played.Lines().back(), HasSubstr("t109: NOT_READY"));
  for (const std::string& line : played.Lines()) {
    EXPECT_THAT(line.size(), Le(500)) << line;
  }
}

TEST(PlainProgressTest, ForeignTextCannotMoveTheCursor) {
  Played played({absl::StrCat("a\x1b[2J=", std::string(1 << 20, '\n'))});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(
      0, kSecond,
      {.detail = "\x1b[2J\r\n\xff\xc2\x9b\x80" + std::string(1 << 20, '\n')});
  run.TickTo(10 * kSecond);
  run.Snapshot();
  for (const std::string& line : played.Lines()) {
    EXPECT_THAT(line.size(), Le(1000));
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), ' ');
    EXPECT_THAT(line, Not(HasSubstr("\xc2\x9b")));
  }
  EXPECT_THAT(played.Lines(), SizeIs(5));
}

}  // namespace
}  // namespace waiter::cli::plain_progress_test
