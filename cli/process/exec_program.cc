// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/exec_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "cli/process/exec_error.h"
#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

// Returns the open files; empty if the system has no /dev/fd. O_CLOEXEC, which
// every file of this program has, then suffices.
std::set<int> OpenFiles() {
  std::set<int> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/dev/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    int file = 0;
    if (absl::SimpleAtoi(entry->path().filename().native(), &file)) {
      files.insert(file);
    }
  }
  // One of them was the directory itself.
  for (auto file = files.begin(); file != files.end();) {
    file = fcntl(*file, F_GETFD) < 0 ? files.erase(file) : std::next(file);
  }
  return files;
}

}  // namespace

InitialState::InitialState() : files_(OpenFiles()) {
  for (int signal = 1; signal < NSIG; ++signal) {
    sigaction(signal, nullptr, &actions_[static_cast<size_t>(signal)]);
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
}

void InitialState::Restore() const {
  // A signal whose action cannot be set has not changed, either.
  for (int signal = 1; signal < NSIG; ++signal) {
    sigaction(signal, &actions_[static_cast<size_t>(signal)], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  for (const int file : OpenFiles()) {
    if (!files_.contains(file)) fcntl(file, F_SETFD, FD_CLOEXEC);
  }
}

int ExecProgram(const std::vector<std::string>& words,
                const InitialState& initial, std::ostream& err) {
  initial.Restore();
  std::cout.flush();
  std::fflush(nullptr);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  const ExecError error = DescribeExecError(words[0], errno);
  err << "waiter: " << Printable(error.text) << '\n';
  return std::max(error.exit_code, 126);
}

}  // namespace waiter::cli
