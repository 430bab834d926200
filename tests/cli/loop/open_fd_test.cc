// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/open_fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/loop/unique_fd.h"
#include "gtest/gtest.h"

namespace waiter::cli::open_fd_test {
namespace {

bool IsInherited(int fd) { return (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0; }

TEST(OpenFdTest, ProgramsDoNotInheritPipes) {
  std::array<int, 2> ends;
  ASSERT_EQ(OpenPipe(ends), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);

  EXPECT_FALSE(IsInherited(reading.get()));
  EXPECT_FALSE(IsInherited(writing.get()));
  char byte = 0;
  ASSERT_EQ(write(writing.get(), "x", 1), 1);
  EXPECT_EQ(read(reading.get(), &byte, 1), 1);
}

TEST(OpenFdTest, ProgramsDoNotInheritSockets) {
  const UniqueFd fd(OpenSocket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_TRUE(fd);
  EXPECT_FALSE(IsInherited(fd.get()));
}

TEST(OpenFdTest, ReportsWhyThereIsNoSocket) {
  EXPECT_EQ(OpenSocket(-1, SOCK_STREAM, 0), -1);
  EXPECT_EQ(errno, EAFNOSUPPORT);
}

TEST(OpenFdTest, ReadingDoesNotBlockIfToldSo) {
  std::array<int, 2> ends;
  ASSERT_EQ(OpenPipe(ends), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  ASSERT_EQ(SetNonBlocking(reading.get()), 0);

  char byte = 0;
  EXPECT_EQ(read(reading.get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace waiter::cli::open_fd_test
