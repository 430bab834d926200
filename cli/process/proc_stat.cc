// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/process/proc_stat.h"

#include <sys/types.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace waiter::cli {

std::optional<ProcStat> ReadProcStat([[maybe_unused]] pid_t pid) {
#ifdef WAITER_PORTABLE_CALLS
  return std::nullopt;
#else
  std::string line;
  std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/stat")), line);
  // The second field is a name in parentheses, which may contain parentheses.
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::string_view rest = line;
  const std::vector<std::string_view> fields =
      absl::StrSplit(rest.substr(name_end + 2), ' ');
  // proc(5) counts fields from 1, and `fields` begins with the third: these are
  // fields 5, 20 and 22.
  ProcStat stat = {};
  int64_t threads = 0;
  if (fields.size() < 20 || !absl::SimpleAtoi(fields[2], &stat.group) ||
      !absl::SimpleAtoi(fields[17], &threads) ||
      !absl::SimpleAtoi(fields[19], &stat.started)) {
    return std::nullopt;
  }
  // The first thread is also a zombie if it has ended before the others.
  const bool zombie = fields[0] == "Z" && threads <= 1;
  stat.dead = zombie || fields[0] == "X";
  return stat;
#endif
}

bool GroupRuns(pid_t group) {
  if (kill(-group, 0) != 0 && errno == ESRCH) return false;
  bool any = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end;
       !error && entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().native(), &pid)) continue;
    const std::optional<ProcStat> stat = ReadProcStat(pid);
    if (!stat.has_value() || stat->group != group) continue;
    if (!stat->dead) return true;
    any = true;
  }
  // A group without any process in /proc is hidden there.
  return !any;
}

}  // namespace waiter::cli
