// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/state_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::cli::state_file_test {
namespace {

using ::testing::HasSubstr;

SavedRun SomeRun() {
  const MonotonicTime now{std::chrono::hours(1)};
  const absl::Time wall = absl::FromUnixNanos(1'800'000'000'123'456'789);
  WaitState state = {.start = now, .deadline = now, .asleep = true};
  return {.started = wall,
          .limit = absl::Minutes(1),
          .targets = {
              {.text = "tcp:db:5432", .ready = true, .polls = 3},
              {.text = "http://h/\"\xC3\xA9",
               .wait = SaveWait(state, WaitReport(), "h", now, {now, wall})},
              {.text = "file:x"}}};
}

TEST(SavedRunTextTest, RunComesBackAsItWas) {
  const SavedRun run = SomeRun();
  const SavedRun parsed = ValueOrFail(ParseSavedRun(FormatSavedRun(run)));

  EXPECT_EQ(parsed.started, run.started);
  EXPECT_EQ(parsed.limit, run.limit);
  ASSERT_EQ(parsed.targets.size(), run.targets.size());
  for (size_t i = 0; i < run.targets.size(); ++i) {
    EXPECT_EQ(parsed.targets[i].text, run.targets[i].text);
    EXPECT_EQ(parsed.targets[i].ready, run.targets[i].ready);
    EXPECT_EQ(parsed.targets[i].polls, run.targets[i].polls);
    EXPECT_EQ(parsed.targets[i].wait.bytes(), run.targets[i].wait.bytes());
  }
}

TEST(SavedRunTextTest, TornTextIsRefusedAtEveryByte) {
  const std::string text = FormatSavedRun(SomeRun());
  // Only the final line end may be missing.
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_THAT(ParseSavedRun(text.substr(0, size)).status().message(),
                HasSubstr("it is truncated or not a state file"))
        << size;
  }
}

TEST(SavedRunTextTest, ChangedTokensAreRefused) {
  std::string text = FormatSavedRun(SomeRun());
  const size_t token = text.find("d757");
  for (size_t i = token; text[i] != '"'; ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '0' ? '1' : '0';
    EXPECT_FALSE(ParseSavedRun(changed).ok()) << i;
  }
}

TEST(SavedRunTextTest, ErrorsSayWhatIsWrong) {
  struct Row {
    std::string_view text;
    std::string_view error;
  };
  const auto rows = std::to_array<Row>({
      {"", "truncated or not a state file"},
      {"PK\x03\x04", "truncated or not a state file"},
      {"[]", "it is not a state file"},
      {"{}", "it is not a state file"},
      {R"({"version": 2})", "it has version 2; this program reads version 1"},
      {R"({"version": "1"})", "it is not a state file"},
      {R"({"version": 1})", "it lacks the start or the targets"},
      {R"({"version": 1, "started": "soon", "targets": []})",
       "it lacks the start or the targets"},
      {R"({"version": 1, "started": "infinite-past", "targets": [7]})",
       "target 1: a target is not an object"},
      {R"({"version": 1, "started": "infinite-past", "targets": [{"raedy": true}]})",
       "target 1: a target has the unknown member \"raedy\""},
      {R"({"version": 1, "started": "infinite-past", "limit": "soon", "targets": []})",
       "its limit is not a duration"},
      {R"({"version": 1, "started": "infinite-past", "limit": 5, "targets": []})",
       "its limit is not a duration"},
      {R"({"version": 1, "started": "infinite-past", "targets": [{"polls": -1}]})",
       "target 1: a target has the unknown member \"polls\""},
      {R"({"version": 1, "started": "infinite-past", "targets": [{"ready": 1}]})",
       "target 1: a target has the unknown member \"ready\""},
      {R"({"version": 1, "started": "infinite-past", "targets": [{"wait": "d7"}]})",
       "target 1: the 1 bytes of a saved wait do not begin like a saved wait"},
  });
  for (const auto& [text, error] : rows) {
    const absl::Status status = ParseSavedRun(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(std::string(error))) << text;
  }
}

class StateFileTest : public testing::Test {
 protected:
  ~StateFileTest() override { std::filesystem::remove(path_); }

  void WriteText(std::string_view text) const { std::ofstream(path_) << text; }

  const std::string path_ = absl::StrCat(
      testing::TempDir(), "/state_file.", getpid(), ".",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  const StateFile file_{path_};
};

TEST_F(StateFileTest, WithoutAFileTheRunHasNotStarted) {
  const SavedRun run = ValueOrFail(file_.Read({"a", "b"}));

  EXPECT_EQ(run.started, absl::InfinitePast());
  ASSERT_EQ(run.targets.size(), 2U);
  EXPECT_EQ(run.targets[1].text, "b");
  EXPECT_TRUE(run.targets[1].wait.empty());
  EXPECT_TRUE(file_.Remove().ok());
}

TEST_F(StateFileTest, FileIsReplacedAndForItsOwnerAlone) {
  ASSERT_TRUE(file_.Write({.targets = {{.text = "a"}}}).ok());
  ASSERT_TRUE(file_.Write({.targets = {{.text = "a", .ready = true}}}).ok());

  const SavedRun run = ValueOrFail(file_.Read({"a"}));
  EXPECT_TRUE(run.targets[0].ready);
  struct stat about = {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

TEST_F(StateFileTest, StateOfOtherTargetsIsRefused) {
  ASSERT_TRUE(file_.Write({.targets = {{.text = "a"}, {.text = "b"}}}).ok());

  EXPECT_THAT(
      file_.Read({"a"}).status().message(),
      HasSubstr("it has 2 targets, but the command has 1; remove the file "
                "to start again, or name another one"));
  EXPECT_THAT(file_.Read({"a", "c"}).status().message(),
              HasSubstr("its target 2 is b, but the command's is c"));
  EXPECT_FALSE(file_.Read({"b", "a"}).ok());
}

TEST_F(StateFileTest, ErrorsNameTheFile) {
  WriteText("nonsense");
  EXPECT_THAT(file_.Read({"a"}).status().message(),
              HasSubstr(absl::StrCat("--state=", path_, ": it is truncated")));
  EXPECT_EQ(StateFile("/nowhere/x").Write({}),
            absl::InvalidArgumentError(
                "--state=/nowhere/x: No such file or directory"));
  EXPECT_EQ(StateFile("/").Read({"a"}).status(),
            absl::InvalidArgumentError("--state=/: Is a directory"));
}

}  // namespace
}  // namespace waiter::cli::state_file_test
