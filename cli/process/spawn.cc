// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/spawn.h"

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
#include <sys/prctl.h>
#endif

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/loop/open_fd.h"
#include "cli/loop/unique_fd.h"

// glibc 2.34 and later can close the inherited files in a child with one call.
#if defined(__GLIBC_PREREQ) && !defined(WAITER_PORTABLE_CALLS)
#if __GLIBC_PREREQ(2, 34)
#define WAITER_HAS_CLOSEFROM 1
#endif
#endif

namespace waiter::cli {
namespace {

// Returns `texts` in the form that exec(2) requires; it does not change them.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the paths to try for `program`, in this order, as execvp(3) does.
// Unlike execvp(3), the caller does not pass a file of unknown format to a
// shell.
std::vector<std::string> Candidates(const std::string& program) {
  if (program.empty() || absl::StrContains(program, '/')) return {program};
  const char* const path =
      std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> candidates;
  const std::vector<std::string> folders =
      absl::StrSplit(path == nullptr ? "/bin:/usr/bin" : path, ':');
  candidates.reserve(folders.size());
  for (const std::string& folder : folders) {
    candidates.push_back(
        absl::StrCat(folder.empty() ? "." : folder, "/", program));
  }
  return candidates;
}

// Data for the child, made before fork(2).
struct ChildPlan {
  pid_t parent;
  char* const* paths;  // To try in this order.
  char* const* words;
  char* const* environment;
  int out;
  int err;
  int report;  // Pipe for the errno of a failure.
};

// The functions below run in the child of a process with threads, and so may
// call only async-signal-safe functions.

// Dies with the parent. posix_spawn(3) cannot set that up.
bool TieToParent([[maybe_unused]] pid_t parent) {
#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
#else
  return true;
#endif
}

void CloseFrom(int first) {
#ifdef WAITER_HAS_CLOSEFROM
  closefrom(first);
#else
  // Higher numbers are rare, and there can be a billion of them.
  constexpr int kMost = 4096;
  for (int fd = first; fd < kMost; ++fd) close(fd);
#endif
}

bool SetFiles(ChildPlan& plan) {
  // Opening it does not fail for want of files: it takes the number of stdin.
  close(STDIN_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  if (null != STDIN_FILENO) return false;
  if (dup2(plan.out, STDOUT_FILENO) < 0 || dup2(plan.err, STDERR_FILENO) < 0) {
    return false;
  }
  constexpr int kReport = STDERR_FILENO + 1;
  if (plan.report != kReport) {
    if (dup2(plan.report, kReport) < 0) return false;
    fcntl(kReport, F_SETFD, FD_CLOEXEC);
    plan.report = kReport;
  }
  CloseFrom(kReport + 1);
  return true;
}

void ResetSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Returns if none of the paths can be run; sets `errno`.
void RunFirst(const ChildPlan& plan) {
  bool forbidden = false;
  for (char* const* path = plan.paths; *path != nullptr; ++path) {
    execve(*path, plan.words, plan.environment);
    forbidden |= errno == EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return;
  }
  if (forbidden) errno = EACCES;
}

[[noreturn]] void BecomeCommand(ChildPlan plan) {
  if (TieToParent(plan.parent) && setpgid(0, 0) == 0 && SetFiles(plan)) {
    ResetSignals();
    RunFirst(plan);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written =
      write(plan.report, &error, sizeof(error));
  _exit(127);
}

// Returns the errno that the child reports; 0 if it runs its command.
int ReadReport(int report) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = read(report, &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(error) ? error : 0;
}

}  // namespace

int Spawn(const SpawnOptions& options, int out, int err, pid_t& pid) {
  std::array<int, 2> report;
  if (OpenPipe(report) != 0) return errno;
  const UniqueFd reading(report[0]);
  UniqueFd writing(report[1]);
  const std::vector<std::string> candidates = Candidates(options.words[0]);
  const std::vector<char*> paths = Pointers(candidates);
  const std::vector<char*> words = Pointers(options.words);
  const std::vector<char*> environment = Pointers(options.environment);
  const ChildPlan plan = {.parent = getpid(),
                          .paths = paths.data(),
                          .words = words.data(),
                          .environment = environment.data(),
                          .out = out,
                          .err = err,
                          .report = report[1]};
  // No handler of this process may run in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) BecomeCommand(plan);
  const int fork_error = child < 0 ? errno : 0;
  writing = UniqueFd();
  const int error = fork_error != 0 ? fork_error : ReadReport(reading.get());
  if (child > 0 && error != 0) waitpid(child, nullptr, 0);
  // SIGCHLD arrives after the failed child was reaped.
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) pid = child;
  return error;
}

}  // namespace waiter::cli
