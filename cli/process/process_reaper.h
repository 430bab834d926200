// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Sees every child to its end. One for the program, which must end after all
// that starts processes (process.h):
//
//   waiter::cli::EventLoop loop;
//   waiter::cli::ProcessReaper reaper(loop);
//   { ... processes come and go, some are left halfway ... }
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

// Owns SIGCHLD. Reaps whatever child there is, as the program may be process 1,
// to which orphans fall; so nothing else in it may wait for children.
// Thread-compatible; its callbacks come from the loop.
class ProcessReaper {
 public:
  // What wait(2) says of a child that has ended. Nothing if SIGKILL could not
  // end it within a second, as it belongs to another user or hangs in the
  // kernel; it is given up then.
  using Ended = std::function<void(std::optional<int>)>;

  // A group that is to end gets SIGTERM, and SIGKILL after `kill_after`.
  explicit ProcessReaper(EventLoop& loop,
                         absl::Duration kill_after = absl::Seconds(2));

  // Ends what is left with `KillNow`, and waits up to a second for it.
  ~ProcessReaper();

  ProcessReaper(const ProcessReaper&) = delete;
  ProcessReaper& operator=(const ProcessReaper&) = delete;

  EventLoop& loop() const { return loop_; }

  // That no child is left, and that every process of a group that was to end
  // has ended or got SIGKILL. Comes true `kill_after` and a second after the
  // last `Terminate`, if not before.
  bool idle() const { return children_.empty(); }

  // Sends SIGKILL to every group that is left.
  void KillNow();

  // Takes over `pid`, a child that leads a process group of its own.
  void Adopt(pid_t pid, Ended ended);

  // Returns whether `pid` has ended, and tells who adopted it, if that is news.
  bool HasEnded(pid_t pid);

  // Ends the whole group of `pid`, if that has not ended.
  void Terminate(pid_t pid);

  // Like `Terminate`, and nobody is told.
  void Abandon(pid_t pid);

 private:
  struct Child {
    Ended ended;
    bool alive = true;  // The child; others of its group may be alive later.
    std::optional<MonotonicTime> kill_at = std::nullopt;  // If it is to end.
    bool killed = false;
    EventLoop::Watch next_look = {};
  };

  void Reap();
  void End(pid_t pid, int status);

  // Kills the group if it is time, forgets it if it is gone, or looks later.
  void LookAt(pid_t pid);

  EventLoop& loop_;
  absl::Duration kill_after_;
  std::map<pid_t, Child> children_;
  SignalWatch child_ended_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PROCESS_REAPER_H_
