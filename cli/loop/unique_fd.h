// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Owns a file descriptor, and closes it in its destructor:
//
//   const waiter::cli::UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
//   if (!fd) return errno;

#ifndef WAITER_CLI_LOOP_UNIQUE_FD_H_
#define WAITER_CLI_LOOP_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace waiter::cli {

// Movable; empty after a move.
class UniqueFd {
 public:
  UniqueFd() = default;

  // Takes ownership of `fd`; empty if `fd` is negative.
  explicit UniqueFd(int fd) : fd_(fd) {}

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    UniqueFd taken(std::move(other));
    std::swap(fd_, taken.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_UNIQUE_FD_H_
