// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Calls that may block, such as getaddrinfo(3), beside an `EventLoop`:
//
//   waiter::cli::BlockingCalls calls(loop);
//   calls.Start([path, weak] {
//     const bool there = access(path.c_str(), F_OK) == 0;  // On a thread.
//     return [there, weak] {                               // On the loop.
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

// Thread-compatible; runs on the loop's thread. Starts threads when they are
// needed, no more than told, and never waits for one: a call that hangs holds
// up neither the end of this nor that of the program.
class BlockingCalls {
 public:
  // `loop` must outlive this.
  explicit BlockingCalls(EventLoop& loop, size_t max_threads = 8);
  ~BlockingCalls();
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  // Runs `call` on a thread, after those begun before if all threads are busy,
  // and then what it returns on the loop, unless this is gone by then. Both
  // must own all they use, as they may outlive everything; nothing throws.
  void Start(std::function<std::function<void()>()> call);

 private:
  struct State;

  static void RunCalls(const std::shared_ptr<State>& state);

  const size_t max_threads_;
  std::shared_ptr<State> state_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_LOOP_BLOCKING_CALLS_H_
