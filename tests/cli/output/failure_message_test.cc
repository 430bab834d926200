// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/failure_message.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/output/target_hint.h"
#include "cli/output/target_text.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/played_run.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli::failure_message_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

constexpr absl::Duration kSecond = absl::Seconds(1);

struct Played : cli::Played<FailureMessage> {
  explicit Played(const std::vector<std::string>& targets,
                  FailureMessage::Extent extent = FailureMessage::Extent::kAll)
      : cli::Played<FailureMessage>(targets, extent) {}
};

void PlayToDeadline(PlayedRun& run) {
  run.Start();
  for (int i = 1; i <= 97; ++i) {
    run.Poll(0, i * 3 * kSecond,
             {.detail = "refused", .hint = "nothing is listening there"});
  }
  run.LastPoll(1, 299 * kSecond, {.status = PollStatus::kSuccess});
  run.state.elapsed = absl::Minutes(5);
  run.End(0, StopReason::kDeadline);
  run.Done("deadline", 124);
}

TEST(FailureMessageTest, MessageNamesTheUnreadyTargetsAndWhy) {
  Played played({"db=tcp://127.0.0.1:5432", "web=http://web/"});
  PlayToDeadline(played.run);
  EXPECT_EQ(played.err.str(),
            "waiter: 1 of 2 targets was not ready when the limit of 5m was "
            "reached\n"
            "  db  tcp://127.0.0.1:5432  NOT_READY: refused (97 polls: 97 not "
            "ready; last 9s ago)\n"
            "      nothing is listening there\n");
}

TEST(FailureMessageTest, OneLineHasTheReasonAndTheLastFinding) {
  Played played({"db=tcp://127.0.0.1:5432", "web=http://web/"},
                FailureMessage::Extent::kLine);
  PlayToDeadline(played.run);
  EXPECT_EQ(played.err.str(),
            "waiter: 1 of 2 targets was not ready when the limit of 5m was "
            "reached; db NOT_READY: refused\n");
}

TEST(FailureMessageTest, SuccessPrintsNothing) {
  Played played({"db"});
  played.run.Start();
  played.run.LastPoll(0, kSecond, {.status = PollStatus::kSuccess});
  played.run.Done("ready", 0);
  EXPECT_EQ(played.err.str(), "");
}

struct EndCase {
  std::vector<std::string> targets;
  std::function<void(RunState&)> change;
  RunEnd end;
  std::string line;
};

std::vector<EndCase> EndCases() {
  const auto nothing = [](RunState&) {};
  return {
      {{"db"},
       nothing,
       {124, "deadline"},
       "db was not ready when the limit of 5m was reached"},
      {{"a", "b"},
       nothing,
       {124, "deadline"},
       "2 of 2 targets were not ready when the limit of 5m was reached"},
      {{"db"},
       [](RunState& run) { run.gone = true; },
       {124, "deadline"},
       "db was not gone when the limit of 5m was reached"},
      {{"db"},
       [](RunState& run) { run.timeout = absl::ZeroDuration(); },
       {124, "deadline"},
       "db was not ready at the only poll"},
      {{"a", "b", "c"},
       [](RunState& run) { run.needed = 2; },
       {124, "deadline"},
       "0 of 3 targets were ready (2 needed) when the limit of 5m was reached"},
      {{"db"},
       nothing,
       {3, "attempts"},
       "db was not ready when --max-attempts was reached, after 3s of 5m"},
      {{"db"},
       nothing,
       {3, "errors"},
       "db was not ready when --max-errors was reached, after 3s of 5m"},
      {{"db"},
       [](RunState& run) { run.timeout = absl::InfiniteDuration(); },
       {3, "errors"},
       "db was not ready when --max-errors was reached, after 3s"},
      {{"db"},
       [](RunState& run) { run.targets[0].reason = StopReason::kFailed; },
       {1, "failed"},
       "db was not ready after 3s of 5m, because it failed permanently"},
      {{"db"},
       [](RunState& run) { run.targets[0].reason = StopReason::kDelaySource; },
       {1, "failed"},
       "db was not ready after 3s of 5m"},
      {{"a", "b"},
       [](RunState& run) { run.targets[0].reason = StopReason::kFailed; },
       {1, "failed"},
       "2 of 2 targets were not ready after 3s of 5m, because 1 target "
       "failed permanently"},
      {{"db"},
       nothing,
       {1, "guard", "process 7 is\ngone"},
       "the guard ended the wait after 3s of 5m: process 7 is\\x0agone; db was "
       "not ready"},
      {{"db"},
       nothing,
       {130, "interrupted", "SIGINT"},
       "interrupted by SIGINT after 3s of 5m; db was not ready"},
      {{"db"},
       nothing,
       {130, "interrupted"},
       "interrupted after 3s of 5m; db was not ready"},
      {{"db"},
       nothing,
       {125, "invalid", "no clock"},
       "ended after 3s of 5m (invalid): no clock; db was not ready"},
  };
}

TEST(FailureMessageTest, FirstLineSaysWhatEndedTheRun) {
  for (const EndCase& c : EndCases()) {
    Played played(c.targets);
    played.run.state.elapsed = 3 * kSecond;
    c.change(played.run.state);
    EXPECT_EQ(FailureReason(played.run.state, c.end), c.line);
  }
}

TEST(FailureMessageTest, LastAnswerBeforeErrorsIsShown) {
  Played played({"db"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, kSecond, {.detail = "2 of 3 replicas", .progress = 0.66});
  run.Poll(0, 2 * kSecond,
           {.status = PollStatus::kServerError, .detail = "HTTP 502"});
  run.state.elapsed = 5 * kSecond;
  run.End(0, StopReason::kQuota);
  run.Done("errors", 3);
  EXPECT_EQ(played.err.str(),
            "waiter: db was not ready when --max-errors was reached, after 5s "
            "of 5m\n"
            "  db  SERVER_ERROR: HTTP 502 (2 polls: 1 not ready, 1 server "
            "error; last 3s ago; --max-errors reached)\n"
            "      before: not ready: 66% 2 of 3 replicas\n");
}

TEST(FailureMessageTest, AnswerBeforeATimeoutIsShownWithItsHint) {
  Played played({"db"});
  PlayedRun& run = played.run;
  const Finding refused = {.status = PollStatus::kServerError,
                           .detail = "TLS: self-signed certificate",
                           .hint = "certificate self-signed: --insecure"};
  run.Start();
  run.Poll(0, kSecond, refused);
  run.LastPoll(0, 2 * kSecond,
               {.status = PollStatus::kServerError,
                .detail = "no answer within 1s",
                .hint = "is it slow?"},
               StopReason::kDeadline);
  run.state.targets[0].last_timed_out = true;
  run.state.targets[0].last_answer = refused;
  run.Done("deadline", 124);
  EXPECT_EQ(played.err.str(),
            "waiter: db was not ready when the limit of 5m was reached\n"
            "  db  SERVER_ERROR: no answer within 1s (2 polls: 2 server "
            "error)\n"
            "      before: server error: TLS: self-signed certificate\n"
            "      certificate self-signed: --insecure\n");
}

TEST(FailureMessageTest, DelayThatTheTargetAskedForIsNamed) {
  Played played({"web"});
  PlayedRun& run = played.run;
  run.Start();
  run.LastPoll(0, kSecond,
               {.status = PollStatus::kThrottled,
                .detail = "HTTP 503",
                .retry_after = absl::Hours(1)},
               StopReason::kDeadline);
  run.Done("deadline", 124);
  EXPECT_EQ(played.Lines()[1],
            "  web  THROTTLED: HTTP 503 (1 poll: 1 throttled; it asked to wait "
            "1h)");
  EXPECT_THAT(played.Lines()[2], AllOf(HasSubstr("longer --timeout"),
                                       HasSubstr("--retry-after=ignore")));
}

TEST(FailureMessageTest, UnfinishedPollIsNamed) {
  Played played({"db"});
  played.run.Start();
  played.run.BeginPoll(0, kSecond);
  played.run.state.elapsed = 5 * kSecond;
  played.run.Done("deadline", 124);
  EXPECT_THAT(
      played.Lines()[1],
      HasSubstr("  db  no poll has ended; the first has taken 4s so far"));
  EXPECT_THAT(played.Lines()[2], HasSubstr("--probe-timeout"));
}

TEST(FailureMessageTest, TwentyOfAThousandTargetsAreListedFailuresFirst) {
  std::vector<std::string> targets;
  targets.reserve(1000);
  for (int i = 0; i < 1000; ++i) targets.push_back(absl::StrCat("file:/t", i));
  Played played(targets);
  PlayedRun& run = played.run;
  run.Start();
  for (size_t i = 0; i < 999; ++i) {
    run.Poll(i, kSecond, {.detail = std::string(1 << 10, 'x'), .absent = true});
  }
  run.LastPoll(999, kSecond,
               {.status = PollStatus::kFailed, .hint = "say please"},
               StopReason::kFailed);
  run.Done("failed", 1);
  // The reason, 20 targets, two distinct hints, and the number of others.
  EXPECT_THAT(played.Lines(), SizeIs(1 + 20 + 2 + 1));
  EXPECT_THAT(played.Lines()[1], HasSubstr("file:/t999  FATAL (1 poll"));
  EXPECT_THAT(played.Lines()[2], HasSubstr("      say please"));
  EXPECT_EQ(played.Lines().back(), "  ... and 980 more");
  for (const std::string& line : played.Lines()) {
    EXPECT_THAT(line.size(), Le(600));
  }
}

TEST(FailureMessageTest, ForeignTextCannotMoveTheCursor) {
  const std::string hostile =
      "\x1b[2J\r\n\xc2\x9b\xff" + std::string(1 << 20, '\n');
  Played played({absl::StrCat("a", hostile, "=", hostile)});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, kSecond, {.detail = hostile, .hint = hostile});
  run.Poll(
      0, kSecond,
      {.status = PollStatus::kServerError, .detail = hostile, .hint = hostile});
  run.Done("guard", 1, hostile);
  const std::string text = played.err.str() + SnapshotText(run.state);
  EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  }
  EXPECT_THAT(played.Lines(), SizeIs(4));
  EXPECT_THAT(text.size(), Le(4000));
}

struct HintCase {
  std::string name;
  TargetState target;
  std::string hint;
};

std::vector<HintCase> HintCases() {
  const auto polled = [](PollStatus status, int64_t polls, Finding last) {
    TargetState target;
    target.text = "http://x/";
    target.phase = TargetState::Phase::kEnded;
    target.attempts = polls;
    target.counts[static_cast<size_t>(status)] = polls;
    target.last = std::move(last);
    target.last.status = status;
    return target;
  };
  const auto with = [](TargetState target, auto change) {
    change(target);
    return target;
  };
  const auto absent = [&](const std::string& text) {
    return with(polled(PollStatus::kNotReady, 3, {}), [&](TargetState& t) {
      t.text = text;
      t.absent = 3;
    });
  };
  return {
      {"nothing", polled(PollStatus::kNotReady, 3, {}), ""},
      {"its own",
       polled(PollStatus::kNotReady, 3, {.hint = "certificate: --insecure"}),
       "certificate: --insecure"},
      {"never polled", {}, ""},
      {"interrupted in the first poll",
       with(TargetState(),
            [](TargetState& t) {
              t.phase = TargetState::Phase::kEnded;
              t.reason = StopReason::kCancelled;
            }),
       ""},
      {"out of time in the first poll",
       with(TargetState(),
            [](TargetState& t) {
              t.phase = TargetState::Phase::kEnded;
              t.reason = StopReason::kDeadline;
            }),
       "--probe-timeout"},
      {"always timed out",
       with(polled(PollStatus::kServerError, 3, {}),
            [](TargetState& t) { t.timed_out = 3; }),
       "--probe-timeout"},
      {"sometimes timed out",
       with(polled(PollStatus::kServerError, 3, {}),
            [](TargetState& t) { t.timed_out = 2; }),
       ""},
      {"was there",
       with(polled(PollStatus::kNotReady, 3, {}),
            [](TargetState& t) {
              t.counts[0] = 2;
              t.attempts = 5;
            }),
       "it was ready in 2 of 5 polls, but not for long enough: see --hold and "
       "--successes"},
      {"throttled", polled(PollStatus::kThrottled, 3, {}), "--backoff"},
      {"no socket", absent("unix:/x"), "it never existed"},
      {"no file", absent("file:/x"), "it never existed"},
      {"no name", absent("dns:x"), "the name was never found"},
      {"no process", absent("pid:1"), ""},
      {"absent at first",
       with(absent("file:/x"), [](TargetState& t) { t.absent = 2; }), ""},
  };
}

TEST(TargetHintTest, PollsSuggestWhatToDo) {
  const RunState run;
  for (const HintCase& c : HintCases()) {
    const std::string hint = HintFor(run, c.target);
    EXPECT_THAT(hint, HasSubstr(c.hint)) << c.name;
    EXPECT_EQ(hint.empty(), c.hint.empty()) << c.name << ": " << hint;
  }
}

TEST(SnapshotTest, SnapshotShowsTheStateOfEachTarget) {
  cli::Played<Snapshots> played({"db", "web", "later", "file"});
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, 40 * kSecond, {.detail = "refused"}, 5 * kSecond);
  run.LastPoll(3, 40 * kSecond, {.status = PollStatus::kSuccess});
  run.BeginPoll(1, kSecond);
  run.state.elapsed = 42 * kSecond;
  run.Snapshot();
  EXPECT_EQ(played.err.str(),
            "waiter: 42s of 5m: 1 of 4 ready\n"
            "  db     NOT_READY  poll 1, next 3s  refused\n"
            "  web    STARTING   poll 1 for 41s\n"
            "  later  STARTING   not polled yet\n"
            "  file   READY      1 poll\n");
}

TEST(SnapshotTest, SnapshotOfAThousandTargetsHasFortyLines) {
  cli::Played<Snapshots> played(std::vector<std::string>(1000, "t"));
  played.run.state.timeout = absl::InfiniteDuration();
  played.run.Snapshot();
  const std::vector<std::string> lines = played.Lines();
  EXPECT_THAT(lines, SizeIs(41));
  EXPECT_EQ(lines.front(), "waiter: 0: 0 of 1000 ready");
  EXPECT_EQ(lines.back(), "  ... and 961 more, 0 ready");
}

}  // namespace
}  // namespace waiter::cli::failure_message_test
