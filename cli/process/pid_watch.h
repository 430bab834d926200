// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Notifies when a process that need not be a child has ended:
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

// The process that has the number `pid` at construction. If the system has
// /proc, a later process with the same number is recognized as another one.
class KnownPid {
 public:
  // Requires `pid` to be positive.
  explicit KnownPid(pid_t pid);

  // Returns false if the process has ended, even if its parent has not waited
  // for it yet.
  bool Running() const;

 private:
  pid_t pid_;
  std::optional<uint64_t> started_;
};

// Thread-compatible.
class PidWatch {
 public:
  // Calls `ended` once, on the loop: immediately if the kernel reports the end
  // (Linux 5.3), otherwise within 500 ms. If there is no such process, calls it
  // soon.
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
