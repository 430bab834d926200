// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls by running a command, whose exit code, or last line, is the answer:
//
//   waiter::cli::ExecProbe probe(reaper, {.command =
//   waiter::cli::ShellCommand("mount -a"),
//                                    .target = "exec:'mount -a'"});
//
// The command finds in its environment
//
//   WAITER_ATTEMPT      the ordinal of the poll, from 1
//   WAITER_ELAPSED_MS   milliseconds since the start of the wait
//   WAITER_DEADLINE_MS  milliseconds until its deadline; not set without one
//   WAITER_TARGET       the target as it was given

#ifndef WAITER_CLI_PROBES_LOCAL_EXEC_PROBE_H_
#define WAITER_CLI_PROBES_LOCAL_EXEC_PROBE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/probes/code_map.h"
#include "cli/probes/probe.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "waiter/poll_context.h"

namespace waiter::cli {

struct ExecProbeOptions {
  // Its environment is set by the probe.
  Command command;

  CodeMap codes = {};
  std::string target = {};
};

// What a command comes to is, in this order: a server error if it was killed at
// its timeout; an answer (probe_answer.h) if it has exited; what `codes` say of
// its exit code or signal, where 126 and 127 stand for a program that cannot be
// executed or is not there. The detail is the last line of stderr or stdout,
// with the code. Only an exit can tell that something is `absent`.
class ExecProbe : public Probe {
 public:
  ExecProbe(ProcessReaper& reaper, ExecProbeOptions options);

  void Start(const PollContext& context, Done done) override;

  // Ends the process group, and answers when the command has ended.
  void TimeOut(absl::Duration timeout) override;

  // The reaper sees to the rest.
  void Cancel() override { process_ = nullptr; }

 private:
  Finding Judge(const ProcessEnd& end) const;

  ProcessReaper& reaper_;
  ExecProbeOptions options_;
  std::optional<absl::Duration> timeout_;  // If it has passed.
  std::unique_ptr<Process> process_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_EXEC_PROBE_H_
