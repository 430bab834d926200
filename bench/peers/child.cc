// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/peers/child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace waiter::bench {
namespace {

bool Bind(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(cpu), &cpus);
  return sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

[[noreturn]] void BecomeProgram(std::optional<int> cpu,
                                const std::vector<std::string>& command,
                                int output) {
  if (cpu.has_value() && !Bind(*cpu)) {
    std::perror("cannot bind to a processor");
    _exit(126);
  }
  dup2(output, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::string> RunOnCpu(std::optional<int> cpu,
                                     const std::vector<std::string>& command) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot create a pipe");
  }
  const pid_t child = fork();
  if (child == 0) BecomeProgram(cpu, command, ends[1]);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer;
  if (child > 0) {
    for (;;) {
      const ssize_t size = read(ends[0], buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      output.append(buffer.data(), static_cast<size_t>(size));
    }
  }
  close(ends[0]);
  if (child < 0) return absl::ErrnoToStatus(errno, "cannot fork");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) {
    return absl::InternalError(absl::StrCat(
        absl::StrJoin(command, " "),
        WIFEXITED(status)
            ? absl::StrCat(" exited with ", WEXITSTATUS(status))
            : absl::StrCat(" was killed by signal ", WTERMSIG(status))));
  }
  return output;
}

}  // namespace waiter::bench
