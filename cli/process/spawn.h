// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Starts a child process:
//
//   pid_t pid = -1;
//   const int error = waiter::cli::Spawn(
//       {.words = {"make", "test"}, .environment = {"PATH=/bin"}},
//       out.writing_end(), err.writing_end(), pid);

#ifndef WAITER_CLI_PROCESS_SPAWN_H_
#define WAITER_CLI_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace waiter::cli {

struct SpawnOptions {
  // The program and its arguments. A program without a slash is looked for in
  // PATH. Not empty.
  std::vector<std::string> words;

  // All variables of the child, as NAME=value.
  std::vector<std::string> environment;
};

// Starts a child, sets `pid`, and returns 0; or returns the errno that says why
// it could not be started. The child leads its own process group, and has an
// empty stdin and the given stdout and stderr, which must be above the standard
// files. It inherits no signal mask, signal handler or file of this process. If
// the system can do that, the child is killed when this thread ends, so that it
// ends with this process even if that is killed.
int Spawn(const SpawnOptions& options, int out, int err, pid_t& pid);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_SPAWN_H_
