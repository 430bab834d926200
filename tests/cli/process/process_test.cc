// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/process/exec_error.h"
#include "cli/process/process_reaper.h"
#include "gtest/gtest.h"
#include "tests/support/process_fixture.h"

namespace waiter::cli::process_test {
namespace {

using How = ProcessEnd::How;

class ProcessTest : public ProcessFixture {
 protected:
  // Starts a process whose end is stored in `end`.
  std::unique_ptr<Process> Start(const Command& command,
                                 std::optional<ProcessEnd>& end) {
    return std::make_unique<Process>(*reaper_, command,
                                     [&end](ProcessEnd result) {
                                       EXPECT_FALSE(end.has_value());
                                       end = std::move(result);
                                     });
  }

  ProcessEnd Run(const Command& command) {
    std::optional<ProcessEnd> end;
    const std::unique_ptr<Process> process = Start(command, end);
    EXPECT_FALSE(end.has_value());
    RunUntil([&] { return end.has_value(); });
    return end.value_or(ProcessEnd());
  }

  ProcessEnd RunShell(const std::string& text) {
    return Run(ShellCommand(text));
  }

  // Returns a child that dies of SIGTERM and has a child that ignores it.
  static Command StubbornGrandchild() {
    return ShellCommand(absl::StrCat("exec 3>alive; (trap '' TERM; : >set; ",
                                     kHang, ") & wait"));
  }

  void WriteFile(const std::string& name, const std::string& text,
                 mode_t mode) {
    std::ofstream(Path(name)) << text;
    ASSERT_EQ(chmod(Path(name).c_str(), mode), 0);
  }
};

TEST_F(ProcessTest, EndSaysHowTheCommandEnded) {
  WriteFile("plain", "exit 0\n", 0644);
  WriteFile("noise", "\x01\x02\x03", 0755);
  WriteFile("orphan", "#!/no/such/interpreter\n", 0755);
  struct Case {
    Command command;
    How how;
    int code;
    std::string described;
  };
  const std::vector<Case> cases = {
      {ShellCommand("exit 0"), How::kExited, 0, "exit code 0"},
      {ShellCommand("exit 255"), How::kExited, 255, "exit code 255"},
      {ShellCommand("kill -KILL $$"), How::kSignalled, 9,
       "killed by signal 9 (Killed)"},
      {{{"true", "an", "argument"}}, How::kExited, 0, "exit code 0"},
      {{{"no-such-command"}},
       How::kNotStarted,
       127,
       "no-such-command: command not found"},
      {{{""}}, How::kNotStarted, 127, ": command not found"},
      {{{"./missing"}},
       How::kNotStarted,
       127,
       "./missing: No such file or directory"},
      {{{"./plain/x"}}, How::kNotStarted, 127, "./plain/x: Not a directory"},
      {{{"./orphan"}},
       How::kNotStarted,
       127,
       "./orphan: its interpreter was not found"},
      {{{"./plain"}}, How::kNotStarted, 126, "./plain: Permission denied"},
      {{{"/"}}, How::kNotStarted, 126, "/: Permission denied"},
      {{{"./noise"}}, How::kNotStarted, 126, "./noise: Exec format error"},
  };
  for (const Case& test : cases) {
    const ProcessEnd end = Run(test.command);
    EXPECT_EQ(end.how, test.how) << test.described;
    EXPECT_EQ(end.code, test.code) << test.described;
    EXPECT_EQ(Describe(end), test.described);
    EXPECT_FALSE(end.terminated);
  }
}

TEST_F(ProcessTest, ExhaustedResourcesAreNotTheCommandsFault) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(next);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 3;
  std::optional<ProcessEnd> end;

  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::unique_ptr<Process> process = Start({{"true"}}, end);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);

  RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(end->how, How::kNotStarted);
  EXPECT_EQ(end->code, ExecError::kNoResources);
  EXPECT_EQ(Describe(*end), "true: Too many open files");
}

TEST_F(ProcessTest, StdinIsEmptyAndOutputIsKeptApart) {
  const ProcessEnd end =
      RunShell("read -r x || echo end; echo out; echo error >&2");
  EXPECT_EQ(end.out, "end\nout\n");
  EXPECT_EQ(end.err, "error\n");
}

TEST_F(ProcessTest, EndOfLongOutputIsKept) {
  const ProcessEnd end = RunShell(
      "head -c 3000000 /dev/urandom; printf end;"
      "head -c 3000000 /dev/zero >&2; printf fin >&2");
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out.size(), size_t{64} * 1024);
  EXPECT_TRUE(absl::EndsWith(end.out, "end"));
  EXPECT_EQ(end.err, std::string(4093, '\0') + "fin");
}

TEST_F(ProcessTest, ChildHasItsOwnGroupAndInheritsNothing) {
  const int inherited = fcntl(STDERR_FILENO, F_DUPFD, 57);
  ASSERT_GE(inherited, 57);
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGPIPE, &ignore, &before), 0);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigset_t unblocked;
  ASSERT_EQ(sigprocmask(SIG_BLOCK, &blocked, &unblocked), 0);

  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process =
      Start(ShellCommand(
                absl::StrCat("test -e /proc/$$/fd/", inherited,
                             " && echo inherited; "
                             "exec grep -E '^Sig(Blk|Ign)' /proc/self/status")),
            end);
  EXPECT_EQ(getpgid(process->pid()), process->pid());
  RunUntil([&] { return end.has_value(); });

  uint64_t blocked_there = 1;
  uint64_t ignored_there = 1;
  ASSERT_EQ(
      std::sscanf(end->out.c_str(), "SigBlk: %" SCNx64 " SigIgn: %" SCNx64,
                  &blocked_there, &ignored_there),
      2)
      << end->out;
  EXPECT_EQ(blocked_there, 0);
  // glibc leaves its own signals, 32 and 33, ignored.
  EXPECT_EQ(ignored_there & 0x7fffffff, 0);
  sigprocmask(SIG_SETMASK, &unblocked, nullptr);
  sigaction(SIGPIPE, &before, nullptr);
  close(inherited);
}

TEST_F(ProcessTest, ChildInheritsTheEnvironmentWithChanges) {
  ASSERT_EQ(setenv("WAITER_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("WAITER_TEST_GONE", "gone", 1), 0);
  Command command = ShellCommand(
      "echo ${WAITER_TEST_KEPT-none} ${WAITER_TEST_GONE-none} "
      "\"$WAITER_TEST_NEW\"");
  command.environment = {{"WAITER_TEST_GONE", std::nullopt},
                         {"WAITER_TEST_NEW", "a=b  c"}};
  EXPECT_EQ(Run(command).out, "kept none a=b  c\n");
}

TEST_F(ProcessTest, ProcessThatClosesItsOutputIsStillAwaited) {
  ASSERT_EQ(mkfifo(Path("go").c_str(), 0600), 0);
  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process = Start(
      ShellCommand("exec >&- 2>&-; : >closed; read -r x <go; exit 3"), end);
  RunUntil([&] { return Exists("closed"); });
  loop_.RunOnce(MonotonicTime());
  EXPECT_FALSE(end.has_value());

  Release("go");
  RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(end->code, 3);
}

TEST_F(ProcessTest, BackgroundProcessDoesNotDelayTheResult) {
  ASSERT_EQ(mkfifo(Path("go").c_str(), 0600), 0);
  const ProcessEnd end =
      RunShell("exec 3>alive; (read -r x <go; : >later) & echo out; exit 4");
  EXPECT_EQ(end.code, 4);
  EXPECT_EQ(end.out, "out\n");

  // The background process continues, because the command ended on its own.
  EXPECT_TRUE(AnyAlive());
  Release("go");
  RunUntil([&] { return Exists("later") && !AnyAlive(); });
}

TEST_F(ProcessTest, TerminateEndsAProcessThatHandlesIt) {
  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process =
      Start(ShellCommand(
                absl::StrCat("trap 'echo bye; exit 6' TERM; : >set; ", kHang)),
            end);
  RunUntil([&] { return Exists("set"); });
  process->Terminate();
  process->Terminate();
  RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(Describe(*end), "exit code 6");
  EXPECT_EQ(end->out, "bye\n");
  EXPECT_TRUE(end->terminated);
}

TEST_F(ProcessTest, TerminateEndsAStoppedProcess) {
  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process =
      Start(ShellCommand("trap 'exit 6' TERM; kill -STOP $$; exit 7"), end);
  siginfo_t stopped = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &stopped,
                   WSTOPPED | WNOWAIT),
            0);
  process->Terminate();
  RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(Describe(*end), "exit code 6");
}

TEST_F(ProcessTest, TerminateKillsAProcessThatIgnoresIt) {
  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process =
      Start(ShellCommand(absl::StrCat("trap '' TERM; : >set; ", kHang)), end);
  RunUntil([&] { return Exists("set"); });
  process->Terminate();
  RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(Describe(*end), "killed by signal 9 (Killed)");
  EXPECT_TRUE(end->terminated);
}

TEST_F(ProcessTest, TerminateDoesNothingToAnEndedProcess) {
  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process =
      Start(ShellCommand("echo out; exit 5"), end);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &ended,
                   WEXITED | WNOWAIT),
            0);
  process->Terminate();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(Describe(*end), "exit code 5");
  EXPECT_EQ(end->out, "out\n");
  EXPECT_FALSE(end->terminated);
  process->Terminate();
}

TEST_F(ProcessTest, TerminateEndsTheWholeGroup) {
  std::optional<ProcessEnd> end;
  const std::unique_ptr<Process> process = Start(StubbornGrandchild(), end);
  RunUntil([&] { return Exists("set"); });
  process->Terminate();
  RunUntil([&] { return end.has_value(); });
  EXPECT_EQ(Describe(*end), "killed by signal 15 (Terminated)");

  RunUntil([&] { return reaper_->idle(); });
  RunUntil([&] { return !AnyAlive(); });
}

TEST_F(ProcessTest, AbandonedProcessIsReaped) {
  std::optional<ProcessEnd> end;
  std::unique_ptr<Process> process = Start(StubbornGrandchild(), end);
  RunUntil([&] { return Exists("set"); });
  process.reset();
  EXPECT_FALSE(reaper_->idle());
  EXPECT_TRUE(AnyAlive());

  RunUntil([&] { return reaper_->idle(); });
  RunUntil([&] { return !AnyAlive(); });
  EXPECT_FALSE(end.has_value());
}

TEST_F(ProcessTest, ReaperLeavesNoProcessBehind) {
  std::optional<ProcessEnd> end;
  std::unique_ptr<Process> process = Start(
      ShellCommand(absl::StrCat("exec 3>alive; trap '' TERM; : >set; ", kHang)),
      end);
  RunUntil([&] { return Exists("set"); });
  process.reset();
  reaper_ = nullptr;
  EXPECT_FALSE(AnyAlive());
}

TEST_F(ProcessTest, ProcessMayBeDestroyedByItsOwnResult) {
  std::unique_ptr<Process> process;
  bool done = false;
  process = std::make_unique<Process>(*reaper_, ShellCommand("exit 0"),
                                      [&](const ProcessEnd& /*end*/) {
                                        process.reset();
                                        done = true;
                                      });
  RunUntil([&] { return done; });
}

TEST_F(ProcessTest, ManyProcessesRunAtOnceAndLeaveNothing) {
  const auto count_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto files_before = count_files();
  {
    constexpr size_t kMany = 200;
    std::vector<std::optional<ProcessEnd>> ends(kMany);
    std::vector<std::unique_ptr<Process>> processes;
    for (size_t i = 0; i < kMany; ++i) {
      processes.push_back(Start(
          ShellCommand(absl::StrCat("echo ", i, "; exit ", i % 7)), ends[i]));
    }
    for (size_t i = 0; i < kMany; ++i) {
      RunUntil([&] { return ends[i].has_value(); });
      EXPECT_EQ(ends[i]->code, static_cast<int>(i % 7));
      EXPECT_EQ(ends[i]->out, absl::StrCat(i, "\n"));
    }
    EXPECT_TRUE(reaper_->idle());
  }
  EXPECT_EQ(count_files(), files_before);
}

TEST(ProcessEndTest, SummaryIsOneLine) {
  struct Case {
    ProcessEnd end;
    std::string summary;
  };
  const std::string long_line(600, 'x');
  const std::vector<Case> cases = {
      {{}, "exit code 0"},
      {{.out = "a\nb\n", .err = "c\n"}, "b"},
      {{.out = " \n", .err = "c"}, "c"},
      {{.code = 1}, "exit code 1"},
      {{.code = 1, .out = "a", .err = " why\r\n\n\t\n"}, "exit code 1: why"},
      {{.code = 1, .out = " a \n"}, "exit code 1: a"},
      {{.code = 1, .err = "10%\r50%\r100%"}, "exit code 1: 100%"},
      {{.how = How::kSignalled, .code = SIGSEGV, .err = "x"},
       "killed by signal 11 (Segmentation fault): x"},
      {{.how = How::kNotStarted, .error = "x: command not found"},
       "x: command not found"},
      {{.how = How::kGivenUp}, "could not be killed"},
      {{.out = long_line}, long_line.substr(0, 512) + "..."},
      {{.out = long_line.substr(0, 510) + "\u20ac\u20ac"},
       long_line.substr(0, 510) + "..."},
  };
  for (const Case& test : cases) EXPECT_EQ(Summary(test.end), test.summary);
}

}  // namespace
}  // namespace waiter::cli::process_test
