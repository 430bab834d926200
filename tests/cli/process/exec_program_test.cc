// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/exec_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/signals.h"
#include "gtest/gtest.h"

namespace waiter::cli::exec_program_test {
namespace {

struct Ended {
  int status;
  std::string out;
};

// Runs `become` in a child that writes stdout and stderr into a pipe.
template <typename Become>
Ended InChild(Become become) {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    _exit(become());
  }
  close(ends[1]);
  Ended ended = {};
  std::array<char, 256> data;
  ssize_t size = 0;
  while ((size = read(ends[0], data.data(), data.size())) > 0) {
    ended.out.append(data.data(), static_cast<size_t>(size));
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &ended.status, 0), child);
  return ended;
}

TEST(ExecProgramTest, ProcessBecomesTheProgram) {
  const Ended ended = InChild([] {
    const InitialState initial;
    // Both streams hold unwritten text.
    std::ios::sync_with_stdio(false);
    std::cout << "before, " << getpid();
    std::printf("printf");
    return ExecProgram(
        {"/bin/sh", "-c", "echo $0 \"$1\", $$; exit 9", "a", "b c"}, initial,
        std::cerr);
  });
  ASSERT_TRUE(WIFEXITED(ended.status));
  EXPECT_EQ(WEXITSTATUS(ended.status), 9);
  int before = 0;
  int after = 0;
  ASSERT_EQ(std::sscanf(ended.out.c_str(), "before, %dprintfa b c, %d", &before,
                        &after),
            2)
      << ended.out;
  EXPECT_EQ(before, after);
}

TEST(ExecProgramTest, ProgramGetsTheInitialState) {
  const Ended ended = InChild([] {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGHUP, &ignore, nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_SETMASK, &set, nullptr);
    const int inherited = fcntl(STDERR_FILENO, F_DUPFD, 57);

    const InitialState initial;
    EventLoop loop;
    const SignalWatch interrupted(loop, SIGINT, [] {});
    const SignalWatch hung_up(loop, SIGHUP, [] {});
    sigaction(SIGPIPE, &ignore, nullptr);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    const int ours = fcntl(STDERR_FILENO, F_DUPFD, 67);

    return ExecProgram(
        {"/bin/sh", "-c",
         absl::StrCat("test -e /proc/$$/fd/", inherited, " && echo inherited; ",
                      "test -e /proc/$$/fd/", ours, " && echo ours; ",
                      "exec grep -E '^Sig(Blk|Ign)' /proc/self/status")},
        initial, std::cerr);
  });
  uint64_t blocked = 0;
  uint64_t ignored = 0;
  ASSERT_EQ(std::sscanf(ended.out.c_str(),
                        "inherited SigBlk: %" SCNx64 " SigIgn: %" SCNx64,
                        &blocked, &ignored),
            2)
      << ended.out;
  EXPECT_EQ(blocked, uint64_t{1} << (SIGUSR1 - 1));
  EXPECT_EQ(ignored & (uint64_t{1} << (SIGHUP - 1)),
            uint64_t{1} << (SIGHUP - 1));
  EXPECT_EQ(ignored & (uint64_t{1} << (SIGPIPE - 1)), 0);
}

TEST(ExecProgramTest, AFailureReadsAsInShells) {
  const std::string plain = testing::TempDir() + "/plain_file";
  std::ofstream(plain) << "exit 0\n";
  ASSERT_EQ(chmod(plain.c_str(), 0644), 0);
  struct Case {
    std::string program;
    int exit_code;
    std::string line;
  };
  const std::vector<Case> cases = {
      {"no-such-program", 127, "waiter: no-such-program: command not found\n"},
      {"./no\x1bsuch", 127,
       "waiter: ./no\\x1bsuch: No such file or directory\n"},
      {plain, 126, absl::StrCat("waiter: ", plain, ": Permission denied\n")},
  };
  const InitialState initial;
  for (const Case& test : cases) {
    std::ostringstream err;
    EXPECT_EQ(ExecProgram({test.program, "x"}, initial, err), test.exit_code);
    EXPECT_EQ(err.str(), test.line);
  }
}

}  // namespace
}  // namespace waiter::cli::exec_program_test
