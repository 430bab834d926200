// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/pipe_tail.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/loop/event_loop.h"
#include "cli/loop/open_fd.h"

namespace waiter::cli {
namespace {

// Most bytes to read in one callback, so that others get their turn.
constexpr size_t kAtOnce = size_t{64} * 1024;

// Largest capacity of a pipe that Linux allows by default.
constexpr size_t kLargestPipe = size_t{1024} * 1024;

void Close(int& end) {
  if (end >= 0) close(std::exchange(end, -1));
}

// Moves `end` above the standard files. Returns 0 or an errno.
int MoveUp(int& end) {
  if (end > STDERR_FILENO) return 0;
  const int moved = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (moved < 0) return errno;
  close(std::exchange(end, moved));
  return 0;
}

}  // namespace

PipeTail::PipeTail(EventLoop& loop, size_t limit,
                   std::function<void()> on_closed,
                   std::function<void(std::string_view)> on_data)
    : limit_(limit), on_data_(std::move(on_data)) {
  if (OpenPipe(ends_) != 0) {
    error_ = errno;
    return;
  }
  for (int& end : ends_) {
    if (error_ == 0) error_ = MoveUp(end);
  }
  if (error_ == 0 && SetNonBlocking(ends_[0]) != 0) error_ = errno;
  if (error_ != 0) return;
  watch_ = loop.WhenReady(ends_[0], POLLIN,
                          [this, on_closed = std::move(on_closed)](auto) {
                            Read(kAtOnce);
                            if (closed()) on_closed();
                          });
}

PipeTail::~PipeTail() {
  watch_ = {};
  for (int& end : ends_) Close(end);
}

void PipeTail::CloseWritingEnd() { Close(ends_[1]); }

void PipeTail::Drain() { Read(kLargestPipe); }

std::string PipeTail::Take() {
  if (kept_.size() > limit_) kept_.erase(0, kept_.size() - limit_);
  return std::exchange(kept_, {});
}

void PipeTail::Read(size_t most) {
  std::array<char, size_t{16} * 1024> data;
  while (most > 0 && !closed()) {
    const ssize_t size =
        read(ends_[0], data.data(), std::min(data.size(), most));
    if (size > 0) {
      Keep(data.data(), static_cast<size_t>(size));
      most -= static_cast<size_t>(size);
    } else if (size == 0 || (errno != EINTR && errno != EAGAIN)) {
      watch_ = {};
      Close(ends_[0]);
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void PipeTail::Keep(const char* data, size_t size) {
  if (on_data_) return on_data_({data, size});
  kept_.append(data, size);
  // Not every time, because erasing moves all kept bytes.
  if (kept_.size() > 2 * limit_) kept_.erase(0, kept_.size() - limit_);
}

}  // namespace waiter::cli
