// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks whether a process runs. To wait for its end, wait until it is absent:
//
//   waiter::cli::PidProbe probe({.pid = 4711});

#ifndef WAITER_CLI_PROBES_LOCAL_PID_PROBE_H_
#define WAITER_CLI_PROBES_LOCAL_PID_PROBE_H_

#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/process/pid_watch.h"
#include "waiter/poll.h"

namespace waiter::cli {

// Answers inside `Start`. A process that has ended is absent, even if its
// parent has not waited for it yet, and if another process has its number now.
class PidProbe : public Probe {
 public:
  explicit PidProbe(const PidTarget& target) : known_(target.pid) {}

  void Start(const PollContext& context, Done done) override;
  void TimeOut(absl::Duration /*timeout*/) override {}
  void Cancel() override {}

 private:
  const KnownPid known_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_PID_PROBE_H_
