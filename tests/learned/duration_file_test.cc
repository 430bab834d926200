// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests a file of durations: its content, other writers, and the files that it
// refuses.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/learned/durations.h"

namespace waiter::duration_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

ObservedDuration Exactly(int64_t seconds) {
  return {.after = absl::Seconds(seconds), .by = absl::Seconds(seconds)};
}

class DurationFileTest : public testing::Test {
 protected:
  DurationFileTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~DurationFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Contents() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  // Opens the file for a model, which must succeed.
  std::unique_ptr<DurationFile> Open(
      const std::shared_ptr<DurationModel>& model) const {
    auto file = DurationFile::Open(path_, model);
    EXPECT_EQ(file.status(), absl::OkStatus());
    return file.ok() ? *std::move(file) : nullptr;
  }

  const std::string folder_ =
      absl::StrCat(testing::TempDir(), "durations_", getpid());
  const std::string path_ = folder_ + "/durations";
};

TEST_F(DurationFileTest, NewFileHasTheFirstLine) {
  const auto file = Open(std::make_shared<DurationModel>());
  EXPECT_EQ(Contents(), "waiter durations 1\n");
}

TEST_F(DurationFileTest, WhatIsRecordedIsThereAtTheNextOpening) {
  {
    auto model = std::make_shared<DurationModel>();
    const auto file = Open(model);
    model->Record("a", Exactly(5));
    model->Record("b", {.after = absl::Seconds(7)});
    EXPECT_EQ(Contents(), "waiter durations 1\n5\t5\ta\t.\n7\t-\tb\t.\n");
    EXPECT_EQ(file->status(), absl::OkStatus());
  }
  auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  EXPECT_THAT(model->Operations(), ElementsAre("a", "b"));
}

TEST_F(DurationFileTest, NothingIsWrittenAfterTheFileIsClosed) {
  auto model = std::make_shared<DurationModel>();
  Open(model).reset();
  model->Record("a", Exactly(5));
  EXPECT_EQ(Contents(), "waiter durations 1\n");
}

TEST_F(DurationFileTest, ModelsThatShareAFileLearnFromEachOther) {
  auto one = std::make_shared<DurationModel>();
  auto two = std::make_shared<DurationModel>();
  const auto file_one = Open(one);
  const auto file_two = Open(two);
  one->Record("a", Exactly(1));
  two->Record("a", Exactly(2));
  EXPECT_THAT(two->Durations("a"), SizeIs(2));
  EXPECT_THAT(one->Durations("a"), SizeIs(1));
  EXPECT_EQ(file_one->Sync(), absl::OkStatus());
  EXPECT_THAT(one->Durations("a"), SizeIs(2));
  EXPECT_EQ(file_one->Sync(), absl::OkStatus());
  EXPECT_THAT(one->Durations("a"), SizeIs(2));
}

TEST_F(DurationFileTest, ProcessesAddToOneFileWithoutLoss) {
  constexpr int kProcesses = 4;
  constexpr int kEach = 50;
  Open(std::make_shared<DurationModel>()).reset();
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto model = std::make_shared<DurationModel>();
      auto file = DurationFile::Open(path_, model);
      for (int j = 0; file.ok() && j < kEach; ++j) {
        model->Record(absl::StrCat("operation ", i), Exactly(j + 1));
      }
      _exit(file.ok() && (*file)->status().ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  DurationModel model;
  EXPECT_EQ(DurationFile::Read(path_, model), absl::OkStatus());
  for (int i = 0; i < kProcesses; ++i) {
    EXPECT_THAT(model.Durations(absl::StrCat("operation ", i)), SizeIs(kEach));
  }
}

TEST_F(DurationFileTest, TornEndIsLeftOutAndTheNextLineIsWhole) {
  Write("waiter durations 1\n5\t5\ta\t.\n6\t6");
  auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  EXPECT_EQ(file->damaged_lines(), 1);
  model->Record("a", Exactly(7));
  EXPECT_EQ(Contents(), "waiter durations 1\n5\t5\ta\t.\n6\t6\n7\t7\ta\t.\n");
  EXPECT_THAT(model->Durations("a"), SizeIs(2));
  DurationModel other;
  EXPECT_EQ(DurationFile::Read(path_, other), absl::OkStatus());
  EXPECT_THAT(other.Durations("a"), SizeIs(2));
}

TEST_F(DurationFileTest, ForeignAndNewerFilesAreRefusedAndLeftAsTheyAre) {
  for (const auto& [contents, code] :
       {std::pair<std::string, absl::StatusCode>{
            "[Unit]\nDescription=a\n", absl::StatusCode::kInvalidArgument},
        {"waiter durations", absl::StatusCode::kInvalidArgument},
        {std::string(5, '\0'), absl::StatusCode::kInvalidArgument},
        {"waiter durations 17\nnew\n",
         absl::StatusCode::kFailedPrecondition}}) {
    Write(contents);
    auto model = std::make_shared<DurationModel>();
    EXPECT_THAT(DurationFile::Open(path_, model).status(),
                StatusIs(code, StartsWith(path_)));
    model->Record("a", Exactly(1));
    EXPECT_EQ(Contents(), contents);
  }
}

TEST_F(DurationFileTest, MissingFolderIsAnErrorWithThePath) {
  const std::string path = folder_ + "/none/durations";
  EXPECT_THAT(
      DurationFile::Open(path, std::make_shared<DurationModel>()).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  DurationModel model;
  EXPECT_THAT(DurationFile::Read(path_, model),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(DurationFileTest, ErrorOfWritingIsKeptAndTheModelGoesOn) {
  auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  std::filesystem::remove_all(folder_);
  model->Record("a", Exactly(1));
  model->Record("a", Exactly(2));
  EXPECT_THAT(file->status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  EXPECT_THAT(model->Durations("a"), SizeIs(2));
}

TEST_F(DurationFileTest, FileThatWasRemovedIsMadeAgain) {
  auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  model->Record("a", Exactly(1));
  std::filesystem::remove(path_);
  model->Record("a", Exactly(2));
  EXPECT_EQ(Contents(), "waiter durations 1\n2\t2\ta\t.\n");
}

TEST_F(DurationFileTest, StoppedProcessWithTheLockHoldsUpNoWait) {
  auto model = std::make_shared<DurationModel>();
  auto file = Open(model);
  const int other = open(path_.c_str(), O_RDWR);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  model->Record("a", Exactly(1));
  model->Record("a", Exactly(2));
  EXPECT_EQ(Contents(), "waiter durations 1\n");
  EXPECT_EQ(file->status(), absl::OkStatus());
  flock(other, LOCK_UN);
  model->Record("a", Exactly(3));
  EXPECT_EQ(Contents(),
            "waiter durations 1\n1\t1\ta\t.\n2\t2\ta\t.\n3\t3\ta\t.\n");
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  model->Record("a", Exactly(4));
  flock(other, LOCK_UN);
  file.reset();
  EXPECT_THAT(Contents(), HasSubstr("4\t4\ta\t.\n"));
  close(other);
}

TEST_F(DurationFileTest, FileThatIsLockedAtTheOpeningIsFilledLater) {
  const int other = open(path_.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  flock(other, LOCK_UN);
  model->Record("a", Exactly(1));
  EXPECT_EQ(Contents(), "waiter durations 1\n1\t1\ta\t.\n");
  close(other);
}

TEST_F(DurationFileTest, LongFileIsShortenedToWhatTheModelKeeps) {
  auto model = std::make_shared<DurationModel>();
  const auto file = Open(model);
  auto other = std::make_shared<DurationModel>();
  const auto other_file = Open(other);
  for (int i = 1; i <= 1100; ++i) model->Record("a", Exactly(i));
  EXPECT_LT(std::filesystem::file_size(path_), 5000);
  EXPECT_EQ(file->status(), absl::OkStatus());
  // Another process that has the old file open writes to the new one.
  other->Record("b", Exactly(7));
  EXPECT_EQ(other_file->status(), absl::OkStatus());
  DurationModel read;
  EXPECT_EQ(DurationFile::Read(path_, read), absl::OkStatus());
  EXPECT_THAT(read.Durations("a"), SizeIs(128));
  EXPECT_THAT(read.Durations("b"), SizeIs(1));
  EXPECT_EQ(read.Durations("a").back().by, absl::Seconds(1100));
}

}  // namespace
}  // namespace waiter::duration_file_test
