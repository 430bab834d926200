// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/guard.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/process/pid_watch.h"
#include "cli/process/process.h"
#include "gtest/gtest.h"
#include "tests/support/process_fixture.h"

namespace waiter::cli::guard_test {
namespace {

class GuardTest : public ProcessFixture {
 protected:
  // Starts a guard that stores in `broken_` why it broke.
  std::unique_ptr<Guard> Start(GuardOptions options) {
    options.every = absl::Milliseconds(1);
    return std::make_unique<Guard>(*reaper_, options,
                                   [this](const absl::Status& why) {
                                     EXPECT_FALSE(broken_.has_value());
                                     broken_ = why;
                                   });
  }

  // Counts the runs of the guarding command, which appends a line to "runs".
  int Runs() const {
    int runs = 0;
    std::ifstream file(Path("runs"));
    for (std::string line; std::getline(file, line);) ++runs;
    return runs;
  }

  // Starts a process that creates "set" and hangs.
  std::unique_ptr<Process> StartHanging() {
    auto process = std::make_unique<Process>(
        *reaper_, ShellCommand(absl::StrCat(": >set; ", kHang)),
        [](const ProcessEnd& /*end*/) {});
    RunUntil([&] { return Exists("set"); });
    return process;
  }

  std::optional<absl::Status> broken_;
};

TEST_F(GuardTest, GuardBreaksAtOnceOnABadAnswer) {
  struct Case {
    GuardOptions options;
    absl::StatusCode code;
    std::string message;
  };
  constexpr absl::StatusCode kAborted = absl::StatusCode::kAborted;
  constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  const std::vector<Case> cases = {
      {{.while_running = "exit 3"},
       kAborted,
       "--while-running='exit 3': exit code 3"},
      {{.while_running = "echo no >&2; exit 1"},
       kAborted,
       "--while-running='echo no >&2; exit 1': exit code 1: no"},
      {{.while_running = "kill -KILL $$"},
       kAborted,
       "--while-running='kill -KILL $$': killed by signal 9 (Killed)"},
      {{.fail_if = "exit 0"}, kAborted, "--fail-if='exit 0': exit code 0"},
      {{.fail_if = "echo bad"},
       kAborted,
       "--fail-if='echo bad': exit code 0: bad"},
      {{.while_running = "echo it >&2; exit 127"},
       kInvalid,
       "--while-running='echo it >&2; exit 127': it cannot be run: exit code "
       "127: it"},
      {{.fail_if = "exit 126"},
       kInvalid,
       "--fail-if='exit 126': it cannot be run: exit code 126"},
      {{.while_running = kHang, .timeout = absl::Milliseconds(50)},
       kAborted,
       absl::StrCat("--while-running='", kHang, "': did not end within 50ms")},
  };
  for (const Case& test : cases) {
    broken_ = std::nullopt;
    const std::unique_ptr<Guard> guard = Start(test.options);
    EXPECT_FALSE(broken_.has_value());
    RunUntil([&] { return broken_.has_value(); });
    EXPECT_EQ(broken_->code(), test.code) << test.message;
    EXPECT_EQ(broken_->message(), test.message);
  }
}

TEST_F(GuardTest, CommandThatTheShellDoesNotUnderstandCannotGuard) {
  for (const GuardOptions& options :
       {GuardOptions{.while_running = "if"}, GuardOptions{.fail_if = "if"}}) {
    broken_ = std::nullopt;
    const std::unique_ptr<Guard> guard = Start(options);
    RunUntil([&] { return broken_.has_value(); });
    EXPECT_EQ(broken_->code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(broken_->message(), "yntax error"))
        << broken_->message();
  }
}

TEST_F(GuardTest, GuardHoldsWhileCommandsAnswerWell) {
  std::ofstream(Path("fine")) << "";
  const std::unique_ptr<Guard> guard =
      Start({.while_running = "test -e fine", .fail_if = "echo >>runs; false"});
  RunUntil([&] { return Runs() >= 5; });
  EXPECT_FALSE(broken_.has_value());

  ASSERT_EQ(unlink(Path("fine").c_str()), 0);
  RunUntil([&] { return broken_.has_value(); });
  EXPECT_EQ(broken_->message(), "--while-running='test -e fine': exit code 1");
}

TEST_F(GuardTest, HangingFailIfRunsAgain) {
  const std::unique_ptr<Guard> guard = Start(
      {.fail_if = absl::StrCat("trap 'exit 0' TERM; echo >>runs; ", kHang),
       .timeout = absl::Milliseconds(50)});
  RunUntil([&] { return Runs() >= 3; });
  EXPECT_FALSE(broken_.has_value());
}

TEST_F(GuardTest, GuardBreaksWhenTheProcessEnds) {
  std::unique_ptr<Process> process = StartHanging();
  const pid_t pid = process->pid();
  const std::unique_ptr<Guard> guard =
      Start({.while_pid = pid, .fail_if = "echo >>runs; false"});
  RunUntil([&] { return Runs() >= 3; });
  EXPECT_FALSE(broken_.has_value());

  process = nullptr;
  RunUntil([&] { return broken_.has_value(); });
  EXPECT_EQ(broken_->message(),
            absl::StrCat("--while-pid=", pid, ": process ", pid,
                         " has ended, or never existed"));

  // The process ended before this guard.
  broken_ = std::nullopt;
  const std::unique_ptr<Guard> late = Start({.while_pid = pid});
  RunUntil([&] { return broken_.has_value(); });
}

TEST_F(GuardTest, GuardMayBeDestroyedInItsCallback) {
  std::unique_ptr<Guard> guard;
  guard = std::make_unique<Guard>(
      *reaper_, GuardOptions{.while_running = "false", .fail_if = "true"},
      [&](const absl::Status& /*why*/) { guard = nullptr; });
  RunUntil([&] { return guard == nullptr; });
}

TEST_F(GuardTest, DestroyedGuardDoesNotCallBack) {
  Start({.while_pid = 1, .while_running = "exit 1", .fail_if = kHang}) =
      nullptr;
  RunUntil([&] { return reaper_->idle(); });
  EXPECT_FALSE(broken_.has_value());
}

TEST_F(GuardTest, EndedProcessIsNotRunning) {
#ifdef WAITER_PORTABLE_CALLS
  GTEST_SKIP() << "only /proc tells which process is a zombie";
#endif
  std::unique_ptr<Process> process = StartHanging();
  const pid_t pid = process->pid();
  const KnownPid known(pid);
  EXPECT_TRUE(known.Running());
  EXPECT_TRUE(KnownPid(getpid()).Running());

  // The process is a zombie, because the loop does not run.
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT),
            0);
  EXPECT_EQ(kill(pid, 0), 0);
  EXPECT_FALSE(known.Running());

  process = nullptr;
  RunUntil([&] { return reaper_->idle(); });
  EXPECT_FALSE(known.Running());
}

}  // namespace
}  // namespace waiter::cli::guard_test
