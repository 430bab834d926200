// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/process_reaper.h"

#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/process/proc_stat.h"
#include "waiter/clock.h"

namespace waiter::cli {
namespace {

using std::chrono::milliseconds;

// Time to wait for a child after SIGKILL.
constexpr std::chrono::seconds kGiveUpAfter(1);

// Interval between looks whether a group whose leader has ended is empty, which
// nothing reports. The number of a group is not reused while the group has
// members. One that has ended may stay: its parent need not notice.
constexpr milliseconds kLookEvery(10);

MonotonicTime Now() { return GetRealClock().MonotonicNow(); }

}  // namespace

ProcessReaper::ProcessReaper(EventLoop& loop, absl::Duration kill_after)
    : loop_(loop),
      kill_after_(kill_after),
      child_ended_(loop, SIGCHLD, [this] { Reap(); }) {}

ProcessReaper::~ProcessReaper() {
  KillNow();
  for (auto& [pid, child] : children_) child.ended = nullptr;
  const MonotonicTime limit = Now() + kGiveUpAfter;
  for (Reap(); !idle() && Now() < limit; Reap()) {
    poll(nullptr, 0, /*timeout=*/1);
  }
}

void ProcessReaper::KillNow() {
  for (auto& [pid, child] : children_) {
    kill(-pid, SIGKILL);
    child.killed = true;
    child.kill_at = Now();
    child.next_look =
        loop_.CallAt(Now(), [this, leader = pid] { LookAt(leader); });
  }
}

void ProcessReaper::Adopt(pid_t pid, Ended ended) {
  children_[pid].ended = std::move(ended);
}

bool ProcessReaper::HasEnded(pid_t pid) {
  const auto found = children_.find(pid);
  if (found == children_.end() || !found->second.alive) return true;
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return false;
  End(pid, status);
  return true;
}

void ProcessReaper::Terminate(pid_t pid) {
  const auto found = children_.find(pid);
  if (found == children_.end() || found->second.kill_at.has_value()) return;
  // The number of a child is not reused before the child is reaped.
  kill(-pid, SIGTERM);
  // A stopped process, for example one that read from the terminal, would not
  // notice SIGTERM.
  kill(-pid, SIGCONT);
  found->second.kill_at =
      SaturatingAdd(Now(), absl::ToChronoNanoseconds(kill_after_));
  LookAt(pid);
}

void ProcessReaper::Abandon(pid_t pid) {
  const auto found = children_.find(pid);
  if (found == children_.end()) return;
  found->second.ended = nullptr;
  Terminate(pid);
}

void ProcessReaper::Reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) End(pid, status);
}

void ProcessReaper::End(pid_t pid, int status) {
  const auto found = children_.find(pid);
  if (found == children_.end() || !found->second.alive) return;
  const Ended ended = std::move(found->second.ended);
  found->second.ended = nullptr;
  found->second.alive = false;
  if (found->second.kill_at.has_value()) {
    LookAt(pid);
  } else {
    children_.erase(found);
  }
  if (ended) ended(status);
}

void ProcessReaper::LookAt(pid_t pid) {
  const auto found = children_.find(pid);
  Child& child = found->second;
  const MonotonicTime now = Now();
  if (!child.killed && now >= *child.kill_at) {
    kill(-pid, SIGKILL);
    child.killed = true;
  }
  if (!child.alive) {
    if (child.killed || !GroupRuns(pid)) {
      children_.erase(found);
      return;
    }
  } else if (child.killed && now >= *child.kill_at + kGiveUpAfter) {
    const Ended given_up = std::move(child.ended);
    children_.erase(found);
    if (given_up) given_up(std::nullopt);
    return;
  }
  MonotonicTime next =
      child.killed ? *child.kill_at + kGiveUpAfter : *child.kill_at;
  if (!child.alive) next = std::min<MonotonicTime>(next, now + kLookEvery);
  child.next_look = loop_.CallAt(next, [this, pid] { LookAt(pid); });
}

}  // namespace waiter::cli
