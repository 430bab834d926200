// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/probes/local/log_probe.h"
#include "cli/probes/probe.h"
#include "gtest/gtest.h"
#include "tests/support/folder_fixture.h"
#include "waiter/poll.h"

namespace waiter::cli::log_follower_test {
namespace {

class LogFollowerTest : public FolderFixture {
 protected:
  LogFollower Follow(int64_t count) const {
    return LogFollower(
        {.path = path_, .count = count, .matches = [](std::string_view line) {
           return absl::StartsWith(line, "ready");
         }});
  }

  void Append(std::string_view text) const {
    std::ofstream(path_, std::ios::app) << text;
  }

  const std::string path_ = Path("log");
};

TEST_F(LogFollowerTest, MissingFileIsAbsentUntilItIsThere) {
  LogFollower log = Follow(1);
  EXPECT_TRUE(log.Read().absent);
  EXPECT_EQ(log.Read().detail, "no such file");
  Append("ready\r\n");
  const Finding found = log.Read();
  EXPECT_EQ(found.status, PollStatus::kSuccess);
  EXPECT_EQ(found.detail, "ready");
}

TEST_F(LogFollowerTest, LineCountsOnceItsEndIsThere) {
  LogFollower log = Follow(1);
  Append("rea");
  EXPECT_EQ(log.Read().detail, "0 of 1 line");
  Append("dy now");
  EXPECT_EQ(log.Read().status, PollStatus::kNotReady);
  Append("\n");
  EXPECT_EQ(log.Read().detail, "ready now");
}

TEST_F(LogFollowerTest, RotatedFileIsReadToItsEndAndTheNewOneFromItsBeginning) {
  LogFollower log = Follow(3);
  Append("ready 1\n");
  EXPECT_EQ(log.Read().detail, "1 of 3 lines");
  Append("ready 2\n");
  ASSERT_EQ(rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  EXPECT_TRUE(log.Read().absent);
  Append("other\nready 3\n");
  EXPECT_EQ(log.Read().detail, "3 of 3 lines, the last: ready 3");
}

TEST_F(LogFollowerTest, ShortenedFileIsReadAgainAndWhatMatchedStillCounts) {
  LogFollower log = Follow(2);
  Append("ready and quite long\nhalf a line");
  EXPECT_EQ(log.Read().detail, "1 of 2 lines");
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  Append("ready 2\n");
  EXPECT_EQ(log.Read().detail, "2 of 2 lines, the last: ready 2");
}

TEST_F(LogFollowerTest, WhatIsNotAFileFails) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  LogFollower log = Follow(1);
  EXPECT_EQ(log.Read().status, PollStatus::kFailed);
}

TEST_F(LogFollowerTest, LongLineIsTakenInParts) {
  LogFollower log = Follow(2);
  Append(std::string(LogFollower::kMaxLine, 'x'));
  Append("ready 1\nready 2\n");
  EXPECT_EQ(log.Read().detail, "2 of 2 lines, the last: ready 2");
}

// Each line counts once, however a text is cut into writes, rotations and
// reads.
TEST_F(LogFollowerTest, EveryLineCountsOnceHoweverItIsWritten) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const auto below = [&](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  for (int run = 0; run < 50; ++run) {
    unlink(path_.c_str());
    LogFollower log = Follow(1'000'000);
    int ready = 0;
    for (int step = 0; step < 40; ++step) {
      switch (below(4)) {
        case 0:
          Append("");
          log.Read();
          Append("ready\n");
          ++ready;
          rename(path_.c_str(), (path_ + ".1").c_str());
          break;
        case 1:
          log.Read();
          break;
        default:
          const bool counts = below(2) == 0;
          ready += counts ? 1 : 0;
          const std::string line =
              absl::StrCat(counts ? "ready" : "busy",
                           std::string(static_cast<size_t>(below(9)), 'y'));
          const size_t cut = static_cast<size_t>(below(5));
          Append(line.substr(0, cut));
          if (below(2) == 0) log.Read();
          Append(line.substr(cut) + "\n");
      }
    }
    Append("");
    EXPECT_EQ(log.Read().detail, absl::StrCat(ready, " of 1000000 lines"));
  }
}

}  // namespace
}  // namespace waiter::cli::log_follower_test
