// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads what Linux says about a process in /proc:
//
//   const auto stat = waiter::cli::ReadProcStat(pid);
//   if (stat.has_value() && stat->dead) { ... }  // A zombie.

#ifndef WAITER_CLI_PROCESS_PROC_STAT_H_
#define WAITER_CLI_PROCESS_PROC_STAT_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace waiter::cli {

struct ProcStat {
  bool dead;         // It has ended, and its parent has not noticed yet.
  pid_t group;       // The number of its process group.
  uint64_t started;  // In clock ticks since boot.
};

// Returns nullopt if there is no such process, or no /proc.
std::optional<ProcStat> ReadProcStat(pid_t pid);

// Returns whether a process of the group runs. If that is unknown, returns
// whether the group has any process, dead or not.
bool GroupRuns(pid_t group);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROCESS_PROC_STAT_H_
