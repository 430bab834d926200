// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Keeps the end of any number of bytes that come through a pipe:
//
//   waiter::cli::PipeTail out(loop, /*limit=*/4096, [] {});
//   StartChild(out.writing_end());
//   out.CloseWritingEnd();
//   ...
//   std::cerr << out.Take();

#ifndef WAITER_CLI_PROCESS_PIPE_TAIL_H_
#define WAITER_CLI_PROCESS_PIPE_TAIL_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Reads continuously, so that the writer never blocks, and keeps the last
// `limit` bytes, in up to twice as much memory. Thread-compatible.
class PipeTail {
 public:
  // Calls `on_closed` once, on the loop, when every writer has closed the pipe.
  // If there is an `on_data`, it gets all bytes, and none are kept.
  PipeTail(EventLoop& loop, size_t limit, std::function<void()> on_closed,
           std::function<void(std::string_view)> on_data = nullptr);
  ~PipeTail();

  PipeTail(const PipeTail&) = delete;
  PipeTail& operator=(const PipeTail&) = delete;

  // Returns the errno if the pipe could not be created, otherwise 0.
  int error() const { return error_; }

  // Returns the write end. Neither end is one of the three standard files, and
  // exec(2) closes both.
  int writing_end() const { return ends_[1]; }
  void CloseWritingEnd();

  // Reads the bytes that are in the pipe now, at most its capacity. Does not
  // call `on_closed`.
  void Drain();

  // Returns whether every writer has closed the pipe and all bytes are read.
  bool closed() const { return ends_[0] < 0; }

  // Returns the kept bytes, and forgets them.
  std::string Take();

 private:
  void Read(size_t most);
  void Keep(const char* data, size_t size);

  size_t limit_;
  std::function<void(std::string_view)> on_data_;
  int error_ = 0;
  std::array<int, 2> ends_ = {-1, -1};
  std::string kept_;
  EventLoop::Watch watch_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PIPE_TAIL_H_
