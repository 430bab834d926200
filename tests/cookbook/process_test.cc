// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a process.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace process_test {
namespace {

// Waits until the process `child` ends, and returns its exit code. Ends it if
// that takes too long, or the wait is stopped.
absl::StatusOr<int> WaitForProcess(pid_t child, waiter::WaitOptions options) {
  options.name = absl::StrCat("process ", child);
  waiter::Waiter wait(
      [child]() -> waiter::Poll<int> {
        int status = 0;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended < 0) {
          return waiter::Failed(absl::ErrnoToStatus(errno, "waitpid"));
        }
        if (ended == 0) return waiter::NotReady("running");
        return waiter::Success(WIFEXITED(status) ? WEXITSTATUS(status)
                                                 : 128 + WTERMSIG(status));
      },
      std::move(options));
  waiter::WaitResult<int> result = wait.Wait();
  if (result.ok()) return *result;
  if (result.reason() != waiter::StopReason::kFailed) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return result.status();
}

// Returns a process that runs `body`.
template <typename Body>
pid_t Start(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(3);
  }
  return child;
}

TEST(ProcessTest, ReturnsTheExitCode) {
  const pid_t child = Start([] {});

  const absl::StatusOr<int> code =
      WaitForProcess(child, {.timeout = absl::Minutes(5)});

  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 3);
}

TEST(ProcessTest, EndsAProcessThatTakesTooLong) {
  waiter::SimulatedClock clock;
  const pid_t child = Start([] {
    while (true) pause();
  });

  const absl::StatusOr<int> code =
      WaitForProcess(child, {.timeout = absl::Minutes(5), .clock = &clock});

  EXPECT_TRUE(absl::IsDeadlineExceeded(code.status())) << code.status();
  EXPECT_EQ(waitpid(child, nullptr, 0), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ProcessTest, FailsAtOnceIfThereIsNoSuchChild) {
  const absl::StatusOr<int> code =
      WaitForProcess(getpid(), {.timeout = absl::Minutes(5)});

  EXPECT_NE(code.status().message().find("waitpid"), std::string::npos)
      << code.status();
}

}  // namespace
}  // namespace process_test
