// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Fixture for tests of child processes: a loop, a reaper and a directory. It
// checks that a test leaves no process behind.

#ifndef WAITER_TESTS_SUPPORT_PROCESS_FIXTURE_H_
#define WAITER_TESTS_SUPPORT_PROCESS_FIXTURE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/process/process_reaper.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"

namespace waiter::cli {

class ProcessFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string name =
        absl::StrCat(testing::TempDir(), "/processes.", std::string(6, 'X'));
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    ASSERT_EQ(mkfifo(Path("never").c_str(), 0600), 0);
    ASSERT_EQ(mkfifo(Path("alive").c_str(), 0600), 0);
    alive_ = open(Path("alive").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(alive_, 0);
    // Scripts start in this directory.
    std::filesystem::current_path(directory_);
  }

  // At the end of every test, expects no zombie, and no process given up.
  void TearDown() override {
    RunUntil([&] { return reaper_ == nullptr || reaper_->idle(); });
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    close(alive_);
    std::filesystem::current_path(former_directory_);
    std::filesystem::remove_all(directory_);
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(directory_, "/", name);
  }

  bool Exists(const std::string& name) const {
    return access(Path(name).c_str(), F_OK) == 0;
  }

  // Runs the loop until `reached` returns true, which is called repeatedly.
  void RunUntil(const std::function<bool()>& reached) {
    using std::chrono::milliseconds;
    const MonotonicTime start = GetRealClock().MonotonicNow();
    while (!reached()) {
      const MonotonicTime now = GetRealClock().MonotonicNow();
      ASSERT_LT(now, start + std::chrono::seconds(20)) << "the test hangs";
      loop_.RunOnce(now + milliseconds(1));
    }
  }

  // Returns true if any process has the fifo "alive" open for writing. A script
  // opens it for its processes by `exec 3>alive`.
  bool AnyAlive() const {
    char byte = 0;
    return read(alive_, &byte, 1) != 0;
  }

  // Unblocks a process that reads the fifo `name`.
  void Release(const std::string& name) {
    RunUntil([&] {
      const int fifo =
          open(Path(name).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (fifo >= 0) close(fifo);
      return fifo >= 0;
    });
  }

  // Shell text that blocks until a signal ends it. No process writes to the
  // fifo "never"; opening it for reading and writing does not block.
  static constexpr const char* kHang =
      "exec 4<>never; while :; do read -r x <&4; done";

  EventLoop loop_;
  std::unique_ptr<ProcessReaper> reaper_ =
      std::make_unique<ProcessReaper>(loop_, absl::Milliseconds(100));

 private:
  const std::filesystem::path former_directory_ =
      std::filesystem::current_path();
  std::string directory_;
  int alive_ = -1;
};

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_PROCESS_FIXTURE_H_
