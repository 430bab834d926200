// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls by running a program. Its exit code, or its last line, is the answer:
//
//   waiter::cli::ExecProbe probe(
//       reaper, {.command = waiter::cli::ShellCommand("mount -a"),
//                .target = "exec:'mount -a'"});
//
// The program finds in its environment
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
#include "waiter/poll.h"

namespace waiter::cli {

struct ExecProbeOptions {
  // The program to run. The probe sets its environment.
  Command command;

  // A program that fails if `command` makes no sense. Runs once, after the
  // first poll that found the target not ready: that exit code may also mean an
  // error in `command`. No words: none.
  Command check = {};

  CodeMap codes = {};
  std::string target = {};  // The value of WAITER_TARGET.
};

// Judges a program by the first of these rules that applies. If it was killed
// at its timeout, it is a server error. If it exited and its last line is an
// answer (probe_answer.h), that counts. Otherwise `codes` decides by the exit
// code or signal, where 126 and 127 mean that a program cannot be executed or
// does not exist. The detail is the last line of stderr or stdout, with the
// code. Only an exit can mean that the target is absent. A program that `check`
// refuses is failed.
class ExecProbe : public Probe {
 public:
  ExecProbe(ProcessReaper& reaper, ExecProbeOptions options);

  void Start(const PollContext& context, Done done) override;

  // Terminates the process group, and answers when the program has ended.
  void TimeOut(absl::Duration timeout) override;

  // The reaper ends the program.
  void Cancel() override { process_ = nullptr; }

 private:
  Finding Judge(const ProcessEnd& end) const;

  // Calls `done` with `finding`, unless the check fails.
  void Check(Finding finding, Done done);

  ProcessReaper& reaper_;
  ExecProbeOptions options_;
  std::optional<absl::Duration> timeout_;  // Once it has passed.
  std::unique_ptr<Process> process_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_EXEC_PROBE_H_
