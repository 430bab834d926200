// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Replaces the process by another program:
//
//   int main(int argc, char** argv) {
//     const waiter::cli::InitialState initial;  // Before anything else.
//     ...
//     return waiter::cli::ExecProgram({"server", "--port=80"}, initial,
//     std::cerr);
//   }

#ifndef WAITER_CLI_PROCESS_EXEC_PROGRAM_H_
#define WAITER_CLI_PROCESS_EXEC_PROGRAM_H_

#include <array>
#include <csignal>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace waiter::cli {

// State with which the process started, for the program that replaces it: which
// signals are ignored, as nohup(1) does, or blocked, and which files are open,
// such as the sockets that systemd passes.
class InitialState {
 public:
  InitialState();

  // Restores the action of every signal and the signal mask of the calling
  // thread, and marks every file that was not open for exec(2) to close.
  void Restore() const;

 private:
  std::array<struct sigaction, NSIG> actions_ = {};
  sigset_t mask_ = {};
  std::set<int> files_;
};

// Replaces the process by `words`, a program, which is looked for in PATH, and
// its arguments. Requires at least one word. Returns only on failure, after it
// has written one line to `err` that says why: 127 if there is no such program,
// otherwise 126. `initial` is then also restored.
int ExecProgram(const std::vector<std::string>& words,
                const InitialState& initial, std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_EXEC_PROGRAM_H_
