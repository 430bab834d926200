// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reaps all children of the program. Create one, and destroy it after
// everything that starts processes (process.h):
//
//   waiter::cli::EventLoop loop;
//   waiter::cli::ProcessReaper reaper(loop);
//   { ... processes start and end, some are abandoned ... }
//   while (!reaper.idle()) loop.RunOnce(waiter::MonotonicTime::max());

#ifndef WAITER_CLI_PROCESS_PROCESS_REAPER_H_
#define WAITER_CLI_PROCESS_PROCESS_REAPER_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/loop/signals.h"
#include "waiter/clock.h"

namespace waiter::cli {

// Owns SIGCHLD. Reaps every child, known or not, because the program may be
// process 1, which adopts orphans. Nothing else in the program may wait for
// children. Thread-compatible; callbacks run on the loop.
class ProcessReaper {
 public:
  // Callback for the end of a child, with its status (wait(2)). Gets `nullopt`
  // if SIGKILL has not ended the child within a second, because it belongs to
  // another user or hangs in the kernel.
  using Ended = std::function<void(std::optional<int>)>;

  // Terminated groups get SIGTERM, and SIGKILL after `kill_after`.
  explicit ProcessReaper(EventLoop& loop,
                         absl::Duration kill_after = absl::Seconds(2));

  // Calls `KillNow`, and waits up to a second for the remaining children.
  ~ProcessReaper();

  ProcessReaper(const ProcessReaper&) = delete;
  ProcessReaper& operator=(const ProcessReaper&) = delete;

  EventLoop& loop() const { return loop_; }

  // Returns whether no child is left, and every process of a terminated group
  // has ended or got SIGKILL. Becomes true at most `kill_after` and one second
  // after the last `Terminate`.
  bool idle() const { return children_.empty(); }

  // Sends SIGKILL to every remaining group.
  void KillNow();

  // Takes over `pid`, a child that leads its own process group.
  void Adopt(pid_t pid, Ended ended);

  // Returns whether `pid` has ended; if so, and it was not known before, calls
  // its `Ended` first.
  bool HasEnded(pid_t pid);

  // Terminates the whole group of `pid`, unless `pid` has ended.
  void Terminate(pid_t pid);

  // Like `Terminate`, without a call of `Ended`.
  void Abandon(pid_t pid);

 private:
  struct Child {
    Ended ended;
    bool alive = true;  // The child; others of its group may outlive it.
    std::optional<MonotonicTime> kill_at = std::nullopt;  // If terminated.
    bool killed = false;
    EventLoop::Watch next_look = {};
  };

  void Reap();
  void End(pid_t pid, int status);

  // Kills the group if it is time, forgets it if it is gone, otherwise looks
  // again later.
  void LookAt(pid_t pid);

  EventLoop& loop_;
  absl::Duration kill_after_;
  std::map<pid_t, Child> children_;
  SignalWatch child_ended_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PROCESS_REAPER_H_
