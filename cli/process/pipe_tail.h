// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The end of what comes through a pipe, however much that is:
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

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Reads all the time, so that who writes is never held up, and keeps the last
// `limit` bytes, in memory for twice as many. Thread-compatible.
class PipeTail {
 public:
  // Calls `on_closed` once, on the loop, when nobody can write any more.
  PipeTail(EventLoop& loop, size_t limit, std::function<void()> on_closed);
  ~PipeTail();

  PipeTail(const PipeTail&) = delete;
  PipeTail& operator=(const PipeTail&) = delete;

  // Why there is no pipe, an errno; 0 if there is one.
  int error() const { return error_; }

  // Neither it nor the other end is one of the three standard files, and both
  // are closed by exec(2).
  int writing_end() const { return ends_[1]; }
  void CloseWritingEnd();

  // Reads what is there now, though at most what a pipe can hold. Does not call
  // `on_closed`.
  void Drain();

  // That all has been read, and nobody can write any more.
  bool closed() const { return ends_[0] < 0; }

  // Returns what is kept, and keeps nothing.
  std::string Take();

 private:
  void Read(size_t most);
  void Keep(const char* data, size_t size);

  size_t limit_;
  int error_ = 0;
  std::array<int, 2> ends_ = {-1, -1};
  std::string kept_;
  EventLoop::Watch watch_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PIPE_TAIL_H_
