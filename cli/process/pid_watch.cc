// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/pid_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/process/proc_stat.h"

namespace waiter::cli {
namespace {

constexpr absl::Duration kPidLookGap = absl::Milliseconds(500);

int OpenPid([[maybe_unused]] pid_t pid) {
#if defined(SYS_pidfd_open) && !defined(WAITER_PORTABLE_CALLS)
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  return -1;
#endif
}

}  // namespace

KnownPid::KnownPid(pid_t pid) : pid_(pid) {
  const std::optional<ProcStat> stat = ReadProcStat(pid);
  if (stat.has_value()) started_ = stat->started;
}

bool KnownPid::Running() const {
  if (kill(pid_, 0) != 0 && errno == ESRCH) return false;
  const std::optional<ProcStat> stat = ReadProcStat(pid_);
  if (!stat.has_value()) return true;
  return !stat->dead && stat->started == started_.value_or(stat->started);
}

PidWatch::PidWatch(EventLoop& loop, pid_t pid, std::function<void()> ended)
    : loop_(loop), pidfd_(OpenPid(pid)), known_(pid), ended_(std::move(ended)) {
  if (pidfd_ >= 0) {
    told_ = loop.WhenReady(pidfd_, POLLIN, [this](auto) { Look(); });
  }
  next_look_ = loop.CallAfter(absl::ZeroDuration(), [this] { Look(); });
}

PidWatch::~PidWatch() {
  told_ = {};
  if (pidfd_ >= 0) close(pidfd_);
}

void PidWatch::Look() {
  if (known_.Running()) {
    next_look_ = loop_.CallAfter(kPidLookGap, [this] { Look(); });
    return;
  }
  told_ = {};
  next_look_ = {};
  // The call may destroy this.
  std::exchange(ended_, nullptr)();
}

}  // namespace waiter::cli
