// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Signals as calls on an `EventLoop`, where anything may be done about them:
//
//   waiter::cli::SignalWatch interrupted(loop, SIGINT, [&] { group.Cancel();
//   });

#ifndef WAITER_CLI_LOOP_SIGNALS_H_
#define WAITER_CLI_LOOP_SIGNALS_H_

#include <csignal>
#include <functional>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Calls `call` on the loop for each arrival of `signal`, or once for several.
// A signal that the process was started to ignore stays ignored, as nohup
// wants, but for SIGCHLD. At most one watch for each signal at a time.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, int signal, std::function<void()> call);

  // Restores what the signal did before.
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
