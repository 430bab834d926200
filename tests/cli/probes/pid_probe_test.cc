// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/pid_probe.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "gtest/gtest.h"
#include "waiter/poll_status.h"

namespace waiter::cli {
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
    // Until it has ended, but leaves it to be waited for.
    siginfo_t info = {};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void Reap() const { waitpid(pid_, nullptr, 0); }

  Target AsTarget() const { return {.scheme = Scheme::kPid, .pid = pid_}; }

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

// Whether a signal to the process would be refused.
bool MayNotBeSignalled(pid_t pid) {
  return kill(pid, 0) != 0 && errno == EPERM;
}

bool IsFoundRunning(pid_t pid) {
  PidProbe probe({.scheme = Scheme::kPid, .pid = pid});
  const Finding found = Poll(probe);
  return found.status == PollStatus::kSuccess && found.detail == "it runs" &&
         !found.absent;
}

// How a child that has given up its rights ends.
enum ExitCode { kFoundRunning, kNotFoundRunning, kKeepsItsUser, kMaySignal };

// Becomes nobody, for whom the parent is a process of another user.
ExitCode ProbeTheParentAsNobody() {
  constexpr uid_t kNobody = 65534;
  if (setresuid(kNobody, kNobody, kNobody) != 0) return kKeepsItsUser;
  if (!MayNotBeSignalled(getppid())) return kMaySignal;
  return IsFoundRunning(getppid()) ? kFoundRunning : kNotFoundRunning;
}

TEST(PidProbeTest, AProcessThatMayNotBeSignalledRuns) {
  if (MayNotBeSignalled(1)) {
    EXPECT_TRUE(IsFoundRunning(1));
    return;
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(ProbeTheParentAsNobody());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kKeepsItsUser) {
    GTEST_SKIP() << "process 1 may be signalled, and no other user become";
  }
  if (WEXITSTATUS(status) == kMaySignal) {
    GTEST_SKIP() << "another user may signal this one's processes here";
  }
  EXPECT_EQ(WEXITSTATUS(status), kFoundRunning);
}

}  // namespace
}  // namespace waiter::cli
