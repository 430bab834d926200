// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/pid_probe.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <optional>
#include <utility>

#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::pid_probe_test {
namespace {

Finding Poll(PidProbe& probe) {
  std::optional<Finding> found;
  probe.Start({}, [&](Finding finding) { found = std::move(finding); });
  return found.value_or(Finding{.detail = "no answer"});
}

// A process that does nothing until it is ended.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      pause();
      _exit(0);
    }
  }
  ~Child() {
    End();
    Reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void End() const {
    kill(pid_, SIGKILL);
    // Waits until the process has ended, but does not reap it.
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void Reap() const { waitpid(pid_, nullptr, 0); }

  PidTarget AsTarget() const { return {.pid = pid_}; }

 private:
  const pid_t pid_;
};

TEST(PidProbeTest, AProcessIsThereUntilItHasEnded) {
  const Child child;
  PidProbe probe(child.AsTarget());
  EXPECT_EQ(Poll(probe).status, PollStatus::kSuccess);
  EXPECT_EQ(Poll(probe).detail, "running");
  EXPECT_FALSE(Poll(probe).absent);

  child.End();
  EXPECT_EQ(Poll(probe).status, PollStatus::kNotReady);
  EXPECT_TRUE(Poll(probe).absent);

  child.Reap();
  EXPECT_EQ(Poll(probe).status, PollStatus::kNotReady);
  EXPECT_EQ(Poll(probe).detail, "no such process");
  EXPECT_TRUE(Poll(probe).absent);
}

// Returns whether a signal to the process would be refused.
bool MayNotBeSignalled(pid_t pid) {
  return kill(pid, 0) != 0 && errno == EPERM;
}

bool IsFoundRunning(pid_t pid) {
  PidProbe probe({.pid = pid});
  const Finding found = Poll(probe);
  return found.status == PollStatus::kSuccess && found.detail == "running" &&
         !found.absent;
}

// Makes the kernel refuse `kill` to this process, as it does for another user's
// processes. Returns whether it does.
bool RefuseSignals() {
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                           offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The end of a child that has given up its rights.
enum ExitCode { kFoundRunning, kNotFoundRunning, kMaySignal };

// Becomes the user `nobody`, so that the parent belongs to another user. If
// there is no other user, as in a sandbox, makes the kernel refuse signals.
ExitCode ProbeTheParentWithoutRights() {
  constexpr uid_t kNobody = 65534;
  const pid_t parent = getppid();
  if (setresuid(kNobody, kNobody, kNobody) != 0 && !RefuseSignals()) {
    return kMaySignal;
  }
  if (!MayNotBeSignalled(parent)) return kMaySignal;
  return IsFoundRunning(parent) ? kFoundRunning : kNotFoundRunning;
}

TEST(PidProbeTest, AProcessThatMayNotBeSignalledRuns) {
  if (MayNotBeSignalled(1)) {
    EXPECT_TRUE(IsFoundRunning(1));
    return;
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(ProbeTheParentWithoutRights());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kMaySignal) {
    GTEST_SKIP() << "every process may be signalled here";
  }
  EXPECT_EQ(WEXITSTATUS(status), kFoundRunning);
}

}  // namespace
}  // namespace waiter::cli::pid_probe_test
