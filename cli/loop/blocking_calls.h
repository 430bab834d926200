// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs calls that may block, such as getaddrinfo(3), on threads, and their
// continuations on an `EventLoop`:
//
//   waiter::cli::BlockingCalls calls(loop);
//   calls.Start([path, weak] {  // Runs on a thread.
//     const bool there = access(path.c_str(), F_OK) == 0;
//     return [there, weak] {  // Runs on the loop.
//       if (const auto self = weak.lock()) self->Found(there);
//     };
//   });

#ifndef WAITER_CLI_LOOP_BLOCKING_CALLS_H_
#define WAITER_CLI_LOOP_BLOCKING_CALLS_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Thread-compatible; use it on the loop's thread. Starts threads as needed, at
// most `max_threads`, and joins none: a call that hangs delays neither the
// destructor nor the exit of the program.
class BlockingCalls {
 public:
  // `loop` must outlive this.
  explicit BlockingCalls(EventLoop& loop, size_t max_threads = 8);
  ~BlockingCalls();
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  // Runs `call` on a thread, and then the function that it returns on the loop.
  // If all threads are busy, `call` waits behind earlier ones. The destructor
  // drops calls that have not begun and functions that have not run. Both
  // functions must own everything they use, because they may outlive every
  // other object, and must not throw.
  void Start(std::function<std::function<void()>()> call);

 private:
  struct State;

  static void RunCalls(const std::shared_ptr<State>& state);

  const size_t max_threads_;
  std::shared_ptr<State> state_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_BLOCKING_CALLS_H_
