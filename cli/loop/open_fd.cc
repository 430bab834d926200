// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/open_fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace waiter::cli {
namespace {

// Cannot fail for a descriptor that is open.
void CloseOnExec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

}  // namespace

int SetNonBlocking(int fd) { return fcntl(fd, F_SETFL, O_NONBLOCK); }

int OpenPipe(std::array<int, 2>& ends) {
  if (pipe(ends.data()) != 0) return -1;
  for (const int end : ends) CloseOnExec(end);
  return 0;
}

int OpenSocket(int family, int type, int protocol) {
  const int fd = socket(family, type, protocol);
  if (fd < 0) return fd;
  CloseOnExec(fd);
#ifdef SO_NOSIGPIPE
  // For systems without MSG_NOSIGNAL.
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof(yes));
#endif
  return fd;
}

}  // namespace waiter::cli
