// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/terminal_progress.h"

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/played_run.h"
#include "tests/support/screen.h"
#include "waiter/backoff.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli::terminal_progress_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kSecond = absl::Seconds(1);

// A run on a terminal whose size may change.
struct Played {
  Played(const std::vector<std::string>& targets, TerminalSize of,
         bool color = false)
      : size(of),
        progress(err, {.size = [this] { return size; }, .color = color}),
        run(progress, targets) {}

  // Returns the screen of a terminal of the current size.
  Screen See() const {
    Screen screen(static_cast<size_t>(size.columns),
                  static_cast<size_t>(size.rows));
    screen.Write(err.str());
    EXPECT_EQ(screen.strange(), "");
    EXPECT_EQ(screen.column(), 0);
    EXPECT_TRUE(screen.wraps());
    return screen;
  }

  TerminalSize size;
  std::ostringstream err;
  TerminalProgress progress;
  PlayedRun run;
};

TEST(TerminalProgressTest, EachTargetHasALineThatIsRedrawn) {
  Played played({"db=tcp://127.0.0.1:5432", "web=http://web/"}, {100, 24});
  PlayedRun& run = played.run;
  run.Start();
  EXPECT_EQ(played.err.str(), "");
  run.BeginPoll(1, absl::ZeroDuration());
  run.TickTo(kTick);
  // A line that the terminal considers too wide must not wrap.
  EXPECT_THAT(played.err.str(), StartsWith("\x1b[?7l"));
  EXPECT_THAT(played.See().Lines(),
              ElementsAre("⠙ db   STARTING  0:00/5:00  not polled yet",
                          "⠙ web  STARTING  0:00/5:00  poll 1"));

  run.Poll(0, 40 * kSecond, {.detail = "refused 127.0.0.1:5432"}, 5 * kSecond);
  run.TickTo(42 * kSecond);
  EXPECT_THAT(
      played.See().Lines(),
      ElementsAre("⠴ db   NOT_READY  0:42/5:00  poll 1, next 3s  refused "
                  "127.0.0.1:5432",
                  "⠴ web  STARTING   0:42/5:00  poll 1 for 42s"));

  run.LastPoll(0, 43 * kSecond, {.status = PollStatus::kSuccess});
  run.LastPoll(1, 44 * kSecond,
               {.status = PollStatus::kFailed, .detail = "HTTP 401"},
               StopReason::kFailed);
  run.Done("failed", 1);
  EXPECT_THAT(played.See().Lines(),
              ElementsAre("✓ db   READY  0:43/5:00  2 polls",
                          "✗ web  FATAL  0:44/5:00  1 poll   HTTP 401"));
}

TEST(TerminalProgressTest, ProgressIsDrawnTenTimesASecondAtMost) {
  Played played({"db"}, {80, 24});
  PlayedRun& run = played.run;
  run.Start();
  run.TickTo(kTick);
  const size_t once = played.err.str().size();
  for (int i = 1; i < 100; ++i) {
    run.Poll(0, kTick + i * absl::Milliseconds(1), {.detail = "refused"});
    played.progress.OnTick(run.state);
  }
  EXPECT_EQ(played.err.str().size(), once);
  run.TickTo(2 * kTick);
  EXPECT_THAT(played.See().Lines(), ElementsAre(HasSubstr("poll 99, next 1s")));
}

TEST(TerminalProgressTest, WideLineIsCut) {
  struct Case {
    int columns;
    std::string line;
  };
  const std::string detail(200, 'd');
  const std::vector<Case> cases = {
      {1, "⠙"},
      {2, "⠙"},
      {3, "⠙ d"},
      {10, "⠙ db  N..."},
      {40, "⠙ db  NOT_READY  " + std::string(20, 'd') + "..."},
      {59, "⠙ db  NOT_READY  " + std::string(39, 'd') + "..."},
      {60, "⠙ db  NOT_READY  0:00/5:00  poll 1, next 1s  dddddddddddd..."},
      // An unknown width counts as 80 columns.
      {0, "⠙ db  NOT_READY  0:00/5:00  poll 1, next 1s  " +
              std::string(32, 'd') + "..."},
      {10000, "⠙ db  NOT_READY  0:00/5:00  poll 1, next 1s  " + detail},
  };
  for (const Case& c : cases) {
    Played played({"db"}, {c.columns, 24});
    played.run.Start();
    played.run.Poll(0, absl::Milliseconds(10), {.detail = detail});
    played.run.TickTo(kTick);
    if (c.columns == 0) played.size.columns = 80;
    EXPECT_THAT(played.See().Lines(), ElementsAre(c.line)) << c.columns;
  }
}

TEST(TerminalProgressTest, LongNamesLeaveRoomForTheFinding) {
  Played played({"https://example.com/a/long/path", "日本語日本語日本語日本語"},
                {80, 24});
  played.run.Start();
  played.run.Poll(0, absl::Milliseconds(10), {.detail = "HTTP 503"});
  played.run.Poll(1, absl::Milliseconds(10), {.detail = "HTTP 503"});
  played.run.TickTo(kTick);
  EXPECT_THAT(
      played.See().Lines(),
      ElementsAre("⠙ https:/.../long/path  NOT_READY  0:00/5:00  poll 1, next "
                  "1s  HTTP 503",
                  "⠙ 日本語...本語日本語   NOT_READY  0:00/5:00  poll 1, next "
                  "1s  HTTP 503"));
}

TEST(TerminalProgressTest, NamesThatAreCutKeepTheirDifference) {
  for (const auto& [targets, names] : std::vector<
           std::pair<std::vector<std::string>, std::vector<std::string>>>{
           {{"file:/var/lib/service/a", "file:/var/lib/service/b"},
            {"file:/v.../service/a", "file:/v.../service/b"}},
           {{"http://a.example.com/status/ready",
             "http://b.example.com/status/ready"},
            {"http://a.example....", "http://b.example...."}},
           {{"https://example.com/a/status/is/ready",
             "https://example.com/b/status/is/ready"},
            {"...a/status/is/ready", "...b/status/is/ready"}}}) {
    Played played(targets, {80, 24});
    played.run.Start();
    played.run.TickTo(kTick);
    const std::vector<std::string> lines = played.See().Lines();
    ASSERT_THAT(lines, SizeIs(2));
    EXPECT_THAT(lines[0], StartsWith("⠙ " + names[0] + "  "));
    EXPECT_THAT(lines[1], StartsWith("⠙ " + names[1] + "  "));
  }
}

TEST(TerminalProgressTest, TimesHaveTheWidthOfTheLimit) {
  Played played({"db"}, {80, 24});
  played.run.state.timeout = absl::Minutes(15);
  played.run.Start();
  played.run.TickTo(kTick);
  EXPECT_THAT(played.See().Lines(),
              ElementsAre("⠙ db  STARTING   0:00/15:00  not polled yet"));
}

TEST(TerminalProgressTest, UnreadyTargetsAreShownFirst) {
  Played played(Numbered(1000), {80, 5});
  PlayedRun& run = played.run;
  run.Start();
  run.LastPoll(0, kTick, {.status = PollStatus::kSuccess});
  run.LastPoll(2, kTick, {.status = PollStatus::kSuccess});
  run.TickTo(10 * kTick);
  const Screen screen = played.See();
  EXPECT_THAT(screen.Lines(),
              ElementsAre(HasSubstr(" t1 "), HasSubstr(" t3 "),
                          HasSubstr(" t4 "), "... and 997 more, 2 ready"));
  EXPECT_EQ(screen.scrolled(), 0);

  run.Done("deadline", 124);
  EXPECT_THAT(played.See().Lines(), SizeIs(40));
  EXPECT_EQ(played.See().Lines().back(), "... and 961 more, 2 ready");
}

TEST(TerminalProgressTest, ShownReadyTargetsAreNotCountedAgain) {
  Played played(Numbered(6), {80, 5});
  PlayedRun& run = played.run;
  run.Start();
  for (size_t i = 0; i < 5; ++i) {
    run.LastPoll(i, kTick, {.status = PollStatus::kSuccess});
  }
  run.TickTo(10 * kTick);
  EXPECT_THAT(played.See().Lines(),
              ElementsAre(HasSubstr(" t5 "), HasSubstr(" t0 "),
                          HasSubstr(" t1 "), "... and 3 more, 3 ready"));
}

TEST(TerminalProgressTest, TerminalOfOneLineShowsOnlyTheEnd) {
  Played played(Numbered(3), {80, 1});
  played.run.Start();
  played.run.TickTo(10 * kTick);
  EXPECT_EQ(played.err.str(), "");
  played.run.Done("deadline", 124);
  EXPECT_THAT(played.See().Lines(), SizeIs(3));
}

TEST(TerminalProgressTest, ProgressFollowsTheSizeOfTheTerminal) {
  Played played(Numbered(6), {80, 24});
  PlayedRun& run = played.run;
  run.Start();
  run.TickTo(kTick);
  EXPECT_THAT(played.See().Lines(), SizeIs(6));
  played.size.rows = 4;
  const size_t before = played.err.str().size();
  run.TickTo(2 * kTick);
  EXPECT_THAT(played.err.str().substr(before),
              HasSubstr("... and 4 more, 0 ready"));
  // A terminal that is higher than reported keeps lines drawn before.
  Screen higher(80, 24);
  higher.Write(played.err.str());
  EXPECT_THAT(higher.Lines(), SizeIs(3));
  played.size = {40, 24};
  run.TickTo(3 * kTick);
  played.size = {80, 24};
  EXPECT_THAT(played.See().Lines(), SizeIs(6));
}

TEST(TerminalProgressTest, SnapshotStaysAboveTheLines) {
  Played played({"db"}, {80, 24});
  PlayedRun& run = played.run;
  run.Start();
  run.TickTo(kTick);
  run.Snapshot();
  run.TickTo(2 * kTick);
  EXPECT_THAT(played.See().Lines(),
              ElementsAre("waiter: 100ms of 5m: 0 of 1 ready",
                          "  db  STARTING  not polled yet",
                          "⠹ db  STARTING  0:00/5:00  not polled yet"));
}

TEST(TerminalProgressTest, ColorsShowTheStates) {
  Played played({"a", "b", "c", "d"}, {80, 24}, /*color=*/true);
  PlayedRun& run = played.run;
  run.Start();
  run.Poll(0, kTick, {});
  run.Poll(1, kTick, {.status = PollStatus::kServerError});
  run.LastPoll(2, kTick, {.status = PollStatus::kSuccess});
  run.LastPoll(3, kTick, {.status = PollStatus::kFailed}, StopReason::kFailed);
  run.Done("failed", 1);
  EXPECT_THAT(played.err.str(), HasSubstr(" a  NOT_READY     0:00"));
  EXPECT_THAT(played.err.str(),
              HasSubstr(" b  \x1b[33mSERVER_ERROR\x1b[m  0:0"));
  EXPECT_THAT(played.err.str(),
              HasSubstr(" c  \x1b[32mREADY       \x1b[m  0:0"));
  EXPECT_THAT(played.err.str(),
              HasSubstr(" d  \x1b[31mFATAL       \x1b[m  0:0"));
  EXPECT_THAT(played.See().Lines(), SizeIs(4));
}

TEST(TerminalProgressTest, MarksAreAsciiWithoutUnicode) {
  std::ostringstream err;
  TerminalProgress progress(err, {.unicode = false});
  PlayedRun run(progress, {"a", "b", "c", "d"});
  run.Start();
  run.TickTo(kTick);
  run.LastPoll(0, kTick, {.status = PollStatus::kSuccess});
  run.LastPoll(1, kTick, {.status = PollStatus::kFailed}, StopReason::kFailed);
  run.End(2, StopReason::kCancelled);
  run.Done("failed", 1);
  Screen screen(80, 24);
  screen.Write(err.str());
  EXPECT_THAT(screen.Lines(),
              ElementsAre(StartsWith("+ a"), StartsWith("x b"),
                          StartsWith("- c"), StartsWith("/ d")));
  for (const char c : err.str()) EXPECT_GT(c, '\0');
}

// The program may be killed after any call.
TEST(TerminalProgressTest, CursorEndsAtTheLeftBelowTheLines) {
  SplitMix64 gen(FirstSeed());
  const auto any_text = [&gen] {
    std::string text;
    for (size_t length = gen() % 100; length > 0; --length) {
      text.push_back(static_cast<char>(gen() % 3 == 0 ? gen() % 32 : gen()));
    }
    return text;
  };
  for (int round = 0; round < 30; ++round) {
    Played played(
        {any_text(), any_text(), any_text(), any_text()},
        {static_cast<int>(gen() % 120 + 1), static_cast<int>(gen() % 8 + 1)},
        /*color=*/gen() % 2 == 0);
    PlayedRun& run = played.run;
    run.Start();
    for (int step = 0; step < 20; ++step) {
      run.Poll(
          gen() % 4, run.state.elapsed,
          {.status = static_cast<PollStatus>(gen() % 5), .detail = any_text()});
      run.TickTo(run.state.elapsed + kTick);
      const Screen screen = played.See();
      EXPECT_EQ(screen.scrolled(), 0);
      EXPECT_EQ(screen.row(), screen.Lines().size());
    }
    run.Done("interrupted", 130);
    played.See();
  }
}

}  // namespace
}  // namespace waiter::cli::terminal_progress_test
