// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests a file of durations: its content, other writers, and the files that it
// refuses.

#include <sys/stat.h>
#ifndef _WIN32
#include <sys/wait.h>
#endif
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/learned/learned_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/locked_file.h"

namespace waiter::duration_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kHeader[] = "waiter durations 1\n";

void Fill(DurationModel& model, const std::string& operation, double seconds,
          int count) {
  waiter::Fill(model, operation, seconds, /*spread=*/0, count);
}

class DurationFileTest : public DurationFileFixture {
 protected:
  static std::string Contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string Contents() const { return Contents(path_); }
  void Write(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
  }
  void Add(const std::string& text) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << text;
  }
  // Puts another file in the place of the file.
  void ReplaceBy(const std::string& text) const {
    const std::string other = folder_ + "/other";
    std::ofstream(other, std::ios::binary) << text;
    std::filesystem::rename(other, path_);
  }

  // Locks the file until the lock is unlocked or destroyed, as another process
  // does.
  std::unique_ptr<internal::LockedFile> LockAsAnother() const {
    auto file = internal::LockedFile::OpenToAppend(path_);
    EXPECT_EQ(file.status(), absl::OkStatus());
    EXPECT_EQ((*file)->Lock(), absl::OkStatus());
    return *std::move(file);
  }

  std::shared_ptr<DurationModel> model_ = std::make_shared<DurationModel>();
};

TEST_F(DurationFileTest, NewFileHasTheFirstLineAndAnEmptyOneGetsIt) {
  Open(model_).reset();
  EXPECT_EQ(Contents(), kHeader);
  Write("");
  Open(model_).reset();
  EXPECT_EQ(Contents(), kHeader);
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
  EXPECT_EQ(file->damaged_lines(), 0);
}

TEST_F(DurationFileTest, NothingIsWrittenAfterTheFileIsClosed) {
  Open(model_).reset();
  model_->Record("a", Exactly(5));
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
#ifdef _WIN32
  GTEST_SKIP() << "needs fork(2)";
#else
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
#endif
}

TEST_F(DurationFileTest, RecorderOfTheModelIsReplacedByTheFile) {
  int recorded = 0;
  const auto count = [&](auto, const auto&) { ++recorded; };
  model_->SetRecorder(count);
  auto file = Open(model_);
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(recorded, 0);
  EXPECT_THAT(Saved("a"), SizeIs(1));
  // Another one that is set later outlives the file.
  model_->SetRecorder(count);
  Fill(*model_, "a", 1, 1);
  file.reset();
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(recorded, 2);
  EXPECT_THAT(Saved("a"), SizeIs(1));
}

TEST_F(DurationFileTest, AnotherFileOfTheModelTakesItsPlace) {
  auto file = Open(model_);
  Fill(*model_, "a", 1, 1);
  const std::string second = folder_ + "/second";
  file = Open(second, model_);
  Fill(*model_, "a", 2, 1);
  EXPECT_EQ(Contents(), absl::StrCat(kHeader, "1\t1\ta\t.\n"));
  EXPECT_THAT(Contents(second), HasSubstr("2\t2\ta\t.\n"));
  EXPECT_EQ(file->status(), absl::OkStatus());
}

TEST_F(DurationFileTest, KeepsItsModelAlive) {
  const auto file = Open(model_);
  Fill(*model_, "a", 3, 1);
  model_ = nullptr;
  Add("5\t5\tb\t.\n");
  EXPECT_EQ(file->Sync(), absl::OkStatus());
}

TEST_F(DurationFileTest, AbsurdDurationsAndNamesAreReadBackWhole) {
  const std::string name(100'000, '\n');
  const auto file = Open(model_);
  model_->Record(name, Exactly(-1));
  model_->Record(name, {.after = absl::InfiniteDuration()});
  model_->Record(name, {.after = absl::Seconds(9), .by = absl::Seconds(3)});
  Fill(*model_, "", 1, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  DurationModel read;
  EXPECT_EQ(DurationFile::Read(path_, read), absl::OkStatus());
  EXPECT_EQ(read.ToText(), model_->ToText());
}

TEST_F(DurationFileTest, TornEndIsLeftOutAndTheNextLineIsWhole) {
  Write("waiter durations 1\n5\t5\ta\t.\n6\t6");
  const auto file = Open(model_);
  EXPECT_EQ(file->damaged_lines(), 1);
  model_->Record("a", Exactly(7));
  EXPECT_EQ(Contents(), "waiter durations 1\n5\t5\ta\t.\n6\t6\n7\t7\ta\t.\n");
  EXPECT_THAT(model_->Durations("a"), SizeIs(2));
  DurationModel other;
  EXPECT_EQ(DurationFile::Read(path_, other), absl::OkStatus());
  EXPECT_THAT(other.Durations("a"), SizeIs(2));
}

TEST_F(DurationFileTest, DamagedLinesOfOthersAreCounted) {
  const auto file = Open(model_);
  Add("5\t5\n6\t6\ta\t.\n");
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_EQ(file->damaged_lines(), 1);
  EXPECT_THAT(model_->Durations("a"), SizeIs(1));
  EXPECT_EQ(file->status(), absl::OkStatus());
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
    int recorded = 0;
    model->SetRecorder([&](auto, const auto&) { ++recorded; });
    EXPECT_THAT(DurationFile::Open(path_, model).status(),
                StatusIs(code, StartsWith(path_)));
    EXPECT_THAT(DurationFile::Read(path_, *model),
                StatusIs(code, StartsWith(path_)));
    EXPECT_THAT(model->Operations(), IsEmpty());
    model->Record("a", Exactly(1));
    EXPECT_EQ(Contents(), contents);
    EXPECT_EQ(recorded, 1);
  }
}

TEST_F(DurationFileTest, FoldersAndDevicesAreRefusedWithTheirPath) {
#ifdef _WIN32
  const std::vector<std::string> paths = {folder_, "NUL"};
#else
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::string> paths = {folder_, pipe, "/dev/null",
                                          "/dev/zero"};
#endif
  for (const std::string& path : paths) {
    EXPECT_THAT(DurationFile::Open(path, model_).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
    EXPECT_THAT(DurationFile::Read(path, *model_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
}

TEST_F(DurationFileTest, ModelThatIsNullIsRefused) {
  EXPECT_THAT(DurationFile::Open(path_, nullptr).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("null")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DurationFileTest, FileWithoutPermissionIsAnErrorWithThePath) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows forbids no reading by chmod(2)";
#endif
  Write(kHeader);
  ASSERT_EQ(chmod(path_.c_str(), 0), 0);
  if (access(path_.c_str(), R_OK) == 0) GTEST_SKIP() << "nothing is forbidden";
  EXPECT_THAT(DurationFile::Open(path_, model_).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path_)));
  EXPECT_THAT(DurationFile::Read(path_, *model_),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path_)));
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

TEST_F(DurationFileTest, FirstErrorOfWritingIsKeptAndTheModelGoesOn) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows keeps the name of an open file";
#endif
  const auto file = Open(model_);
  std::filesystem::remove_all(folder_);
  Fill(*model_, "a", 1, 1);
  const absl::Status first = file->status();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
  std::filesystem::create_directories(path_);
  Fill(*model_, "a", 1, 1);
  EXPECT_EQ(file->status(), first);
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_THAT(model_->Durations("a"), SizeIs(2));
}

TEST_F(DurationFileTest, FileThatBecomesReadOnlyIsWrittenOrAnError) {
  const auto file = Open(path_, model_);
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  Fill(*model_, "a", 1, 2);
  EXPECT_THAT(model_->Durations("a"), SizeIs(2));
  EXPECT_TRUE(!file->status().ok() || Saved("a").size() == 2);
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);  // Windows could not remove it.
}

TEST_F(DurationFileTest, FileThatWasRemovedIsMadeAgain) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows keeps the name of an open file";
#endif
  const auto file = Open(model_);
  model_->Record("a", Exactly(1));
  std::filesystem::remove(path_);
  model_->Record("a", Exactly(2));
  EXPECT_EQ(Contents(), "waiter durations 1\n2\t2\ta\t.\n");
}

TEST_F(DurationFileTest, TruncatedFileIsFilledAgain) {
  const auto file = Open(model_);
  Fill(*model_, "a", 1, 3);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  Fill(*model_, "a", 2, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_EQ(Contents(), absl::StrCat(kHeader, "2\t2\ta\t.\n"));
  EXPECT_THAT(model_->Durations("a"), SizeIs(4));
}

TEST_F(DurationFileTest, LineThatIsCutUnderItIsClosed) {
  const auto file = Open(model_);
  Fill(*model_, "a", 1, 3);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 3);
  Fill(*model_, "a", 2, 2);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_THAT(Contents(), HasSubstr("\n2\t2\ta\t.\n2\t2\ta\t.\n"));
  EXPECT_THAT(Saved("a"), SizeIs(4));
  EXPECT_THAT(model_->Durations("a"), SizeIs(5));
  EXPECT_EQ(file->damaged_lines(), 1);
}

TEST_F(DurationFileTest, FirstLineThatIsCutUnderItSpoilsNothing) {
  const auto file = Open(model_);
  Fill(*model_, "a", 1, 3);
  std::filesystem::resize_file(path_, 5);
  Fill(*model_, "a", 2, 2);
  EXPECT_THAT(model_->Durations("a"), SizeIs(5));
  // Either the file is filled again, or the error says that it is not a list.
  if (file->status().ok()) {
    EXPECT_THAT(Saved("a"), SizeIs(2));
  } else {
    EXPECT_THAT(file->status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
  }
}

TEST_F(DurationFileTest, FileThatReplacesItIsReadAndWritten) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows keeps the name of an open file";
#endif
  const auto file = Open(model_);
  Fill(*model_, "a", 1, 3);
  ReplaceBy(absl::StrCat(kHeader, "7\t7\tb\t.\n"));
  Fill(*model_, "a", 2, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_THAT(model_->Durations("b"), SizeIs(1));
  EXPECT_THAT(model_->Durations("a"), SizeIs(4));
  EXPECT_EQ(Contents(), absl::StrCat(kHeader, "7\t7\tb\t.\n2\t2\ta\t.\n"));
}

TEST_F(DurationFileTest, ForeignFileThatReplacesItIsLeftAsItIs) {
#ifdef _WIN32
  GTEST_SKIP() << "Windows keeps the name of an open file";
#endif
  for (const auto& [contents, code] :
       {std::pair<std::string, absl::StatusCode>{
            "somebody's\n", absl::StatusCode::kInvalidArgument},
        {"waiter durations 3\nx\n", absl::StatusCode::kFailedPrecondition}}) {
    std::filesystem::remove(path_);
    const auto model = std::make_shared<DurationModel>();
    const auto file = Open(model);
    Fill(*model, "a", 1, 3);
    ReplaceBy(contents);
    EXPECT_THAT(file->Sync(), StatusIs(code, HasSubstr(path_)));
    Fill(*model, "a", 2, 2);
    EXPECT_THAT(file->status(), StatusIs(code, HasSubstr(path_)));
    EXPECT_EQ(Contents(), contents);
    EXPECT_THAT(model->Durations("a"), SizeIs(5));
  }
}

TEST_F(DurationFileTest, FolderOrPipeThatReplacesItIsAnError) {
#ifdef _WIN32
  GTEST_SKIP() << "needs mkfifo(2)";
#else
  for (const bool pipe : {false, true}) {
    std::filesystem::remove_all(path_);
    const auto model = std::make_shared<DurationModel>();
    const auto file = Open(model);
    std::filesystem::remove(path_);
    if (pipe) {
      ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    } else {
      std::filesystem::create_directory(path_);
    }
    Fill(*model, "a", 2, 2);
    EXPECT_THAT(file->status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)))
        << pipe;
    EXPECT_THAT(model->Durations("a"), SizeIs(2));
  }
#endif
}

TEST_F(DurationFileTest, FileThatIsRemovedAndSavedAgainIsKnown) {
  const auto file = Open(model_);
  Fill(*model_, "a", 1, 3);
  const std::string contents = Contents();
  std::filesystem::remove(path_);
  Write(contents);
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_THAT(model_->Durations("a"), SizeIs(3));
  EXPECT_EQ(Contents(), contents);
}

TEST_F(DurationFileTest, StoppedProcessWithTheLockHoldsUpNoWait) {
  auto file = Open(model_);
  const auto other = LockAsAnother();
  model_->Record("a", Exactly(1));
  model_->Record("a", Exactly(2));
  EXPECT_EQ(Contents(), "waiter durations 1\n");
  EXPECT_EQ(file->status(), absl::OkStatus());
  other->Unlock();
  model_->Record("a", Exactly(3));
  EXPECT_EQ(Contents(),
            "waiter durations 1\n1\t1\ta\t.\n2\t2\ta\t.\n3\t3\ta\t.\n");
  ASSERT_EQ(other->Lock(), absl::OkStatus());
  model_->Record("a", Exactly(4));
  other->Unlock();
  file.reset();
  EXPECT_THAT(Contents(), HasSubstr("4\t4\ta\t.\n"));
}

TEST_F(DurationFileTest, FileThatIsLockedAtTheOpeningIsFilledLater) {
  const auto other = LockAsAnother();
  const auto file = Open(model_);
  other->Unlock();
  model_->Record("a", Exactly(1));
  EXPECT_EQ(Contents(), "waiter durations 1\n1\t1\ta\t.\n");
}

TEST_F(DurationFileTest, SyncOfALockedFileComesBackAndLosesNothing) {
  const auto file = Open(model_);
  const auto other = LockAsAnother();
  (void)file->Sync();
  Fill(*model_, "a", 1, 1);
  (void)file->Sync();
  ASSERT_EQ(other->Append("5\t5\tb\t.\n"), absl::OkStatus());
  other->Unlock();
  EXPECT_EQ(file->Sync(), absl::OkStatus());
  EXPECT_THAT(model_->Durations("a"), SizeIs(1));
  EXPECT_THAT(model_->Durations("b"), SizeIs(1));
  Fill(*model_, "a", 2, 1);
  EXPECT_THAT(Saved("a"), SizeIs(2));
  EXPECT_THAT(Saved("b"), SizeIs(1));
  EXPECT_EQ(file->status(), absl::OkStatus());
}

TEST_F(DurationFileTest, LockedFileIsOwedWholeLinesUpToALimit) {
  const std::string name(20'000, 'x');
  auto file = Open(model_);
  const auto other = LockAsAnother();
  for (int i = 1; i <= 6; ++i) model_->Record(name, Exactly(i));
  EXPECT_EQ(Contents(), kHeader);
  other->Unlock();
  model_->Record(name, Exactly(7));
  DurationModel read;
  int64_t damaged = 0;
  EXPECT_EQ(read.Merge(Contents(), &damaged), absl::OkStatus());
  EXPECT_EQ(damaged, 0);
  EXPECT_GE(read.Durations(name).size(), 3);
  EXPECT_LE(read.Durations(name).size(), 5);
  EXPECT_EQ(read.Durations(name).back().by, absl::Seconds(7));
  EXPECT_THAT(model_->Durations(name), SizeIs(7));
  ASSERT_EQ(other->Lock(), absl::OkStatus());
  model_->Record(name, Exactly(8));
  file.reset();  // Returns while the file is locked.
}

TEST_F(DurationFileTest, LongFileIsShortenedToWhatTheModelKeeps) {
  const auto file = Open(model_);
  auto other = std::make_shared<DurationModel>();
  const auto other_file = Open(other);
  for (int i = 1; i <= 1100; ++i) model_->Record("a", Exactly(i));
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

TEST_F(DurationFileTest, FileThatAnotherShortenedBringsAllItsNews) {
  const auto file = Open(model_);
  const auto other = std::make_shared<DurationModel>();
  const auto other_file = Open(other);
  Fill(*model_, "a", 1, 3);
  for (int i = 0; i < 1100; ++i) Fill(*other, "b", 2, 1);
  ASSERT_LT(std::filesystem::file_size(path_), 5000);
  Fill(*other, "c", 3, 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(file->Sync(), absl::OkStatus());
    EXPECT_THAT(model_->Durations("a"), SizeIs(3));
    EXPECT_THAT(model_->Durations("b"), SizeIs(128));
    EXPECT_THAT(model_->Durations("c"), SizeIs(2));
  }
}

TEST_F(DurationFileTest, ShortenedFileKeepsItsLinkAndItsPermissions) {
#ifdef _WIN32
  GTEST_SKIP() << "needs links and permissions of POSIX";
#endif
  const std::string target = folder_ + "/target";
  std::filesystem::create_symlink(target, path_);
  const auto file = Open(model_);
  ASSERT_EQ(chmod(target.c_str(), 0660), 0);
  for (int i = 1; i <= 1100; ++i) Fill(*model_, "a", 60, 1);
  EXPECT_EQ(file->status(), absl::OkStatus());
  EXPECT_LT(std::filesystem::file_size(target), 5000);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_THAT(Saved("a"), SizeIs(128));
  struct stat after = {};
  ASSERT_EQ(stat(target.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 0777, 0660);
}

}  // namespace
}  // namespace waiter::duration_file_test
