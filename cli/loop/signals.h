// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Delivers signals as calls on an `EventLoop`, which may do anything:
//
//   const waiter::cli::SignalWatch interrupted(loop, SIGINT,
//                                              [&] { group.Cancel(); });

#ifndef WAITER_CLI_LOOP_SIGNALS_H_
#define WAITER_CLI_LOOP_SIGNALS_H_

#include <csignal>
#include <functional>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Calls `call` on the loop when `signal` arrives; one call may cover several
// arrivals. A signal that was ignored before stays ignored, as nohup(1)
// requires, except SIGCHLD. Each signal has at most one watch at a time.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, int signal, std::function<void()> call);

  // Restores the previous action of the signal.
  ~SignalWatch();

  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int signal_;
  int reading_ = -1;
  struct sigaction before_ = {};
  EventLoop::Watch watch_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_SIGNALS_H_
