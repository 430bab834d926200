// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/file_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "gtest/gtest.h"
#include "tests/support/run_until.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::cli::file_probe_test {
namespace {

class FileProbeTest : public testing::Test {
 protected:
  FileProbeTest() {
    static int tests = 0;
    path_ = absl::StrCat(testing::TempDir(), "/file", getpid(), "-", ++tests);
  }
  ~FileProbeTest() override { unlink(path_.c_str()); }

  void Write(size_t size) const {
    std::ofstream(path_) << std::string(size, 'x');
  }

  std::unique_ptr<FileProbe> NewProbe(const std::string& path,
                                      absl::Duration stable = {}) {
    return std::make_unique<FileProbe>(
        loop_, calls_, FileTarget{.path = path, .stable = stable});
  }

  Finding Poll(Probe& probe) {
    found_.reset();
    probe.Start({}, [this](Finding finding) { found_ = std::move(finding); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return found_.has_value(); }));
    return *found_;
  }

  SimulatedClock clock_;
  EventLoop loop_{clock_};
  BlockingCalls calls_{loop_};
  std::string path_;
  std::optional<Finding> found_;
};

TEST_F(FileProbeTest, FileIsAbsentUntilItExists) {
  const std::unique_ptr<FileProbe> probe = NewProbe(path_);
  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);
  EXPECT_EQ(found_->detail, "no such file");
  EXPECT_TRUE(found_->absent);

  Write(3);
  EXPECT_EQ(Poll(*probe).status, PollStatus::kSuccess);
  EXPECT_EQ(found_->detail, "3 bytes");
  EXPECT_FALSE(found_->absent);

  // A path through a file is also absent.
  EXPECT_TRUE(Poll(*NewProbe(path_ + "/more")).absent);
}

TEST_F(FileProbeTest, FileIsStableOnceUnchangedForLongEnough) {
  const std::unique_ptr<FileProbe> probe = NewProbe(path_, absl::Seconds(2));
  Write(3);
  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);  // First seen at 0 s.
  EXPECT_EQ(found_->detail, "3 bytes, unchanged for less than 2s");
  EXPECT_FALSE(found_->absent);

  clock_.AdvanceTime(absl::Seconds(1.9));
  Write(4);
  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);  // Changed at 1.9 s.
  EXPECT_EQ(found_->detail, "4 bytes, unchanged for less than 2s");

  clock_.AdvanceTime(absl::Seconds(1.9));
  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);  // At 3.8 s.

  clock_.AdvanceTime(absl::Seconds(0.1));
  EXPECT_EQ(Poll(*probe).status, PollStatus::kSuccess);  // At 3.9 s.
  EXPECT_EQ(found_->detail, "4 bytes, unchanged for 2s");
}

TEST_F(FileProbeTest, AnotherFileOfTheSameSizeAndTimeIsAChange) {
  const std::unique_ptr<FileProbe> probe = NewProbe(path_, absl::Seconds(2));
  Write(3);
  Poll(*probe);
  struct stat before = {};
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  clock_.AdvanceTime(absl::Seconds(2));

  const std::string other = path_ + ".new";
  std::ofstream(other) << "abc";
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, other.c_str(), times, 0), 0);
  ASSERT_EQ(rename(other.c_str(), path_.c_str()), 0);

  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);
}

TEST_F(FileProbeTest, RecreatedFileMustBecomeStableAgain) {
  const std::unique_ptr<FileProbe> probe = NewProbe(path_, absl::Seconds(2));
  Write(3);
  Poll(*probe);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_TRUE(Poll(*probe).absent);
  Write(3);
  clock_.AdvanceTime(absl::Seconds(2));
  EXPECT_EQ(Poll(*probe).status, PollStatus::kNotReady);
}

TEST_F(FileProbeTest, PermanentErrorIsAFailure) {
  EXPECT_EQ(Poll(*NewProbe(std::string(5000, 'x'))).status,
            PollStatus::kFailed);
  EXPECT_EQ(found_->detail, "File name too long");
  EXPECT_FALSE(found_->absent);

  // A link to itself may be repaired.
  ASSERT_EQ(symlink(path_.c_str(), path_.c_str()), 0);
  EXPECT_EQ(Poll(*NewProbe(path_)).status, PollStatus::kServerError);
  EXPECT_FALSE(found_->absent);
}

TEST_F(FileProbeTest, HangingFileSystemIsNamed) {
  const std::unique_ptr<FileProbe> probe = NewProbe(path_);
  probe->Start({}, [this](Finding finding) { found_ = std::move(finding); });
  probe->TimeOut(absl::Seconds(10));
  ASSERT_TRUE(found_.has_value());
  EXPECT_EQ(found_->status, PollStatus::kServerError);
  EXPECT_EQ(found_->detail, "no answer from the file system within 10s");
  EXPECT_FALSE(found_->absent);

  // The next poll gets the result of the call in progress.
  EXPECT_EQ(Poll(*probe).detail, "no such file");
}

TEST_F(FileProbeTest, CancelledOrDestroyedPollDoesNotAnswer) {
  std::unique_ptr<FileProbe> probe = NewProbe(path_);
  const Probe::Done never = [](const Finding&) { ADD_FAILURE() << "late"; };
  probe->Start({}, never);
  probe->Cancel();
  Poll(*probe);
  probe->Start({}, never);
  probe.reset();
  Poll(*NewProbe(path_));
}

}  // namespace
}  // namespace waiter::cli::file_probe_test
