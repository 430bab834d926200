// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A file descriptor that closes itself.

#ifndef WAITER_EXAMPLES_FILE_DESCRIPTOR_H_
#define WAITER_EXAMPLES_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace waiter_examples {

// Owns a file descriptor, or nothing. Thread-compatible.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }

  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }

  void Close() {
    if (valid()) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// The two ends of a pipe. Both are invalid if the system has no descriptors
// left.
struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

// Returns a pipe whose ends do not block and are closed on exec.
Pipe MakePipe();

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_FILE_DESCRIPTOR_H_
