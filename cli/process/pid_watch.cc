// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/pid_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/loop/event_loop.h"

namespace waiter::cli {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(500);

// State of a process in /proc. `started` is in clock ticks since boot.
struct Stat {
  bool dead;
  uint64_t started;
};

std::optional<Stat> ReadStat(pid_t pid) {
  std::string line;
  std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/stat")), line);
  // The second field is a name in parentheses, which may contain parentheses.
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::string_view rest = line;
  const std::vector<std::string_view> fields =
      absl::StrSplit(rest.substr(name_end + 2), ' ');
  // proc(5) counts fields from 1, and `fields` begins with the third: these are
  // fields 20 and 22.
  int64_t threads = 0;
  uint64_t started = 0;
  if (fields.size() < 20 || !absl::SimpleAtoi(fields[17], &threads) ||
      !absl::SimpleAtoi(fields[19], &started)) {
    return std::nullopt;
  }
  // The first thread is a zombie, too, if it has ended before the others.
  const bool zombie = fields[0] == "Z" && threads <= 1;
  return Stat{.dead = zombie || fields[0] == "X", .started = started};
}

int OpenPid([[maybe_unused]] pid_t pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  return -1;
#endif
}

}  // namespace

KnownPid::KnownPid(pid_t pid) : pid_(pid) {
  const std::optional<Stat> stat = ReadStat(pid);
  if (stat.has_value()) started_ = stat->started;
}

bool KnownPid::Running() const {
  if (kill(pid_, 0) != 0 && errno == ESRCH) return false;
  const std::optional<Stat> stat = ReadStat(pid_);
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
    next_look_ = loop_.CallAfter(kLookEvery, [this] { Look(); });
    return;
  }
  told_ = {};
  next_look_ = {};
  // The call may destroy this.
  std::exchange(ended_, nullptr)();
}

}  // namespace waiter::cli
