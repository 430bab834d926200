// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Whether a process runs. To wait for its end, wait for its absence:
//
//   waiter::PidProbe probe(*waiter::ParseTarget("pid:4711"));

#ifndef WAITER_CLI_PROBES_PID_PROBE_H_
#define WAITER_CLI_PROBES_PID_PROBE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "waiter/poll_context.h"

namespace waiter {

// What /proc/N/stat tells of a process.
struct ProcessState {
  char state = '?';    // 'Z' has ended, though nobody has waited for it.
  uint64_t start = 0;  // In ticks since the start of the machine.
};

// Returns nothing if `text` is not of that form.
std::optional<ProcessState> ReadProcessState(std::string_view text);

// Answers inside of `Start`. A process that has ended is absent, also while its
// parent has not noticed, and when another process has got its number since the
// first poll.
class PidProbe : public Probe {
 public:
  explicit PidProbe(const Target& target) : pid_(target.pid) {}

  void Start(const PollContext& context, Done done) override;
  void TimeOut(absl::Duration /*timeout*/) override {}
  void Cancel() override {}

 private:
  Finding Look();

  const pid_t pid_;
  std::optional<uint64_t> first_start_;
};

}  // namespace waiter

#endif  // WAITER_CLI_PROBES_PID_PROBE_H_
