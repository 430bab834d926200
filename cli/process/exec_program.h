// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Becomes another program:
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

// What the process was started with, and what the command shall find: which
// signals are ignored, as nohup(1) does it, or blocked, and which files are
// open, as those of systemd's sockets.
class InitialState {
 public:
  InitialState();

  // Sets all signals and the mask of the calling thread as they were, and sees
  // to it that exec(2) closes each file that was not open.
  void Restore() const;

 private:
  std::array<struct sigaction, NSIG> actions_ = {};
  sigset_t mask_ = {};
  std::set<int> files_;
};

// Replaces the process by `words`, a program, looked for in PATH, and its
// arguments; there must be one. Returns only if that fails: 127 if there is no
// such program, else 126, with a line in `err` that says why. `initial` has
// been restored then, too.
int ExecProgram(const std::vector<std::string>& words,
                const InitialState& initial, std::ostream& err);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_EXEC_PROGRAM_H_
