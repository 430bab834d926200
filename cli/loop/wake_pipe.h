// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A pipe that wakes an `EventLoop`:
//
//   const std::array<int, 2> ends = waiter::cli::MakeWakePipe();
//   write(ends[1], "", 1);  // poll(2) returns for ends[0].

#ifndef WAITER_CLI_LOOP_WAKE_PIPE_H_
#define WAITER_CLI_LOOP_WAKE_PIPE_H_

#include <array>

namespace waiter::cli {

// Returns the ends for reading and writing. Neither blocks. Without a pipe
// nothing can be awaited: if the system refuses one, because too many files are
// open, prints why and ends the process with 125.
std::array<int, 2> MakeWakePipe();

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_WAKE_PIPE_H_
