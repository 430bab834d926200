// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Ctrl-C as a stop token:
//
//   StopOnSignal stop;
//   wait.Wait(stop.token());
//   if (stop.signal() == SIGINT) ...

#ifndef WAITER_EXAMPLES_STOP_ON_SIGNAL_H_
#define WAITER_EXAMPLES_STOP_ON_SIGNAL_H_

#include <atomic>
#include <csignal>
#include <thread>

#include "waiter/stop_token.h"

namespace waiter_examples {

// While an object exists, the first SIGINT or SIGTERM requests a stop, and the
// second one ends the process immediately. A thread takes the signals: a signal
// handler could not safely call `request_stop`.
class StopOnSignal {
 public:
  // Blocks the signals in this thread and in the threads that it starts later,
  // so construct the object before starting others.
  StopOnSignal();

  ~StopOnSignal();

  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  waiter::stop_token token() const { return stop_.get_token(); }

  // Returns the signal that came first, or 0 if none has.
  int signal() const { return signal_; }

 private:
  void TakeSignals();

  waiter::stop_source stop_;
  std::atomic<int> signal_ = 0;
  std::atomic<bool> done_ = false;
  sigset_t signals_;
  sigset_t mask_before_;
  std::thread thread_;
};

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_STOP_ON_SIGNAL_H_
