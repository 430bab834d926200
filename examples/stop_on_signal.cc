// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/stop_on_signal.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace waiter_examples {

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  thread_ = std::thread([this] { TakeSignals(); });
}

StopOnSignal::~StopOnSignal() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void StopOnSignal::TakeSignals() {
  while (true) {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (done_) return;
    if (signal_ != 0) _exit(128 + signal);
    signal_ = signal;
    stop_.request_stop();
  }
}

}  // namespace waiter_examples
