// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tells when a process that is none of our children has ended:
//
//   waiter::cli::PidWatch watch(loop, pid, [&] { ... });

#ifndef WAITER_CLI_PROCESS_PID_WATCH_H_
#define WAITER_CLI_PROCESS_PID_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// The process that has the number `pid` now. Where there is a /proc, a later
// one with that number is another.
class KnownPid {
 public:
  // Requires `pid` to be positive.
  explicit KnownPid(pid_t pid);

  // False if it has ended, also if nobody has waited for it yet.
  bool Running() const;

 private:
  pid_t pid_;
  std::optional<uint64_t> started_;
};

// Thread-compatible.
class PidWatch {
 public:
  // Calls `ended` once, on the loop: at once where the kernel can tell that
  // (Linux 5.3), else within 500 ms; soon if there is no such process already.
  PidWatch(EventLoop& loop, pid_t pid, std::function<void()> ended);
  ~PidWatch();

  PidWatch(const PidWatch&) = delete;
  PidWatch& operator=(const PidWatch&) = delete;

 private:
  void Look();

  EventLoop& loop_;
  int pidfd_;
  KnownPid known_;
  std::function<void()> ended_;
  EventLoop::Watch told_;
  EventLoop::Watch next_look_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PID_WATCH_H_
