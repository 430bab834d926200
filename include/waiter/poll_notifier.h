// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Lets another thread cut the sleep of a blocking wait short, because it knows
// that a poll is worthwhile now:
//
//   waiter::PollNotifier changed;
//   std::jthread watcher([&](std::stop_token stop) {
//     WatchFolder(folder, stop, [&] { changed.PollNow(); });
//   });
//   waiter::WaitResult<> done = wait_for_file.Wait(changed);
//
// The wait polls without notifications, too, so a lost one only delays the
// answer. A wait on an engine has `WaitHandle::PollNow` instead.

#ifndef WAITER_POLL_NOTIFIER_H_
#define WAITER_POLL_NOTIFIER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "waiter/clock.h"
#include "waiter/stop_token.h"

namespace waiter {

// Thread-safe. Any number of waits may use a notifier, at the same time too.
// Must outlive them, or a copy must: copies stand for the same notifier.
class PollNotifier {
 public:
  PollNotifier();

  // Ends the sleeps of the waits that use this, a first delay included, so that
  // they poll. Returns at once, and calls no status function itself.
  //
  // Several calls before a poll begins cause one poll. A call during a poll
  // causes another poll after it. For calls before the wait, its first poll is
  // enough. Delays grow from their beginning again.
  // `BackoffOptions::min_delay`, the server's `retry_after`, quotas and rate
  // limiters hold, so the poll may come later. Sleeps that confirm a success
  // keep their length.
  //
  // Takes a lock, so it must not be called in a signal handler.
  void PollNow() const;

  // Functions for drivers of a `WaitLoop` (loop/wait_loop.h).

  // Returns the number of calls of `PollNow` so far. Read it before a poll,
  // which serves all calls until then.
  uint64_t count() const;

  // Sleeps by `clock` as `Clock::SleepUntil` does, and also returns once the
  // number of calls is not `count` any more. Returns whether it is not.
  bool SleepUntil(Clock& clock, MonotonicTime wake_up,
                  const waiter::stop_token& stop, std::string_view who,
                  uint64_t count) const;

 private:
  class State;

  std::shared_ptr<State> state_;
};

}  // namespace waiter

#endif  // WAITER_POLL_NOTIFIER_H_
