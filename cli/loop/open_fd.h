// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Opens pipes and sockets that programs started later do not inherit, by calls
// that every Unix has. A program that another thread starts between two of
// those calls does inherit one.

#ifndef WAITER_CLI_LOOP_OPEN_FD_H_
#define WAITER_CLI_LOOP_OPEN_FD_H_

#include <array>

namespace waiter::cli {

// Each function returns the result of the call in its comment, and sets `errno`
// if it fails.

// Like fcntl(2) with O_NONBLOCK.
int SetNonBlocking(int fd);

// Like pipe(2).
int OpenPipe(std::array<int, 2>& ends);

// Like socket(2).
int OpenSocket(int family, int type, int protocol);

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_OPEN_FD_H_
