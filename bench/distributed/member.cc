// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/distributed/member.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "bench/check.h"

namespace waiter::bench {

Member::Member(const std::vector<std::string>& command) {
  std::array<int, 2> input;
  std::array<int, 2> output;
  Check(pipe2(input.data(), O_CLOEXEC) == 0, "no pipe");
  Check(pipe2(output.data(), O_CLOEXEC) == 0, "no pipe");
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT
  }
  arguments.push_back(nullptr);
  pid_ = fork();
  Check(pid_ >= 0, "no process");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  in_ = fdopen(output[0], "r");
  out_ = fdopen(input[1], "w");
}

Member::~Member() {
  Kill();
  std::fclose(in_);
  std::fclose(out_);
}

void Member::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Figures Member::Read() {
  std::array<char, 1024> line;
  Check(std::fgets(line.data(), line.size(), in_) != nullptr,
        "a process ended early");
  line[std::strcspn(line.data(), "\n")] = '\0';
  Figures figures;
  for (const absl::string_view word : absl::StrSplit(line.data(), ' ')) {
    const std::vector<std::string> parts = absl::StrSplit(word, '=');
    Check(parts.size() == 2, "a process printed something else");
    figures[parts[0]] = std::strtod(parts[1].c_str(), nullptr);
  }
  return figures;
}

Figures Member::Ask() {
  std::fputc('\n', out_);
  std::fflush(out_);
  return Read();
}

}  // namespace waiter::bench
