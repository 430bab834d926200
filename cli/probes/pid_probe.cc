// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/pid_probe.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/probes/probe.h"
#include "waiter/poll_context.h"
#include "waiter/poll_status.h"

namespace waiter {

std::optional<ProcessState> ReadProcessState(std::string_view text) {
  // "4711 (name) S 1 ...": the name may hold anything.
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> fields =
      absl::StrSplit(text.substr(name_end + 2), ' ');
  // The state is the third of all fields, the start the 22nd.
  constexpr size_t kStart = 22 - 3;
  ProcessState process;
  if (fields[0].size() != 1 || fields.size() <= kStart ||
      !absl::SimpleAtoi(fields[kStart], &process.start)) {
    return std::nullopt;
  }
  process.state = fields[0][0];
  return process;
}

void PidProbe::Start(const PollContext& /*context*/, Done done) {
  done(Look());
}

Finding PidProbe::Look() {
  // EPERM is said of a process that is there.
  if (kill(pid_, 0) != 0 && errno == ESRCH) {
    return {.detail = "no such process", .absent = true};
  }
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // Other systems have no such file.
  if (const auto process = ReadProcessState(text)) {
    if (process->state == 'Z' || process->state == 'X') {
      return {.detail = "it has ended, which its parent has not noticed",
              .absent = true};
    }
    if (first_start_.value_or(process->start) != process->start) {
      return {.detail = "it has ended, and another process has its number",
              .absent = true};
    }
    first_start_ = process->start;
  }
  return {.status = PollStatus::kSuccess, .detail = "it runs"};
}

}  // namespace waiter
