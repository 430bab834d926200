// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/forked_child.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace {

std::atomic<bool> is_child = false;

}  // namespace

// In a child, objects of the parent's threads look like leaks. LeakSanitizer
// calls this function.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return is_child ? 1 : 0; }

namespace waiter {

std::string ExitOfChild(absl::FunctionRef<void()> run) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    is_child = true;
    run();
    std::exit(0);
  }
  if (child < 0) return "there is no child";
  int status = 0;
  const absl::Time end = absl::Now() + absl::Minutes(1);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (absl::Now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "did not exit";
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return WIFEXITED(status)
             ? absl::StrCat("exited with ", WEXITSTATUS(status))
             : absl::StrCat("killed by signal ", WTERMSIG(status));
}

}  // namespace waiter
