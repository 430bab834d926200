// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags for the goal and the limits of a run of `waiter`:
//
//   waiter::cli::WaitFlags wait;
//   wait.AddTo(flags);
//   ...
//   absl::StatusOr<waiter::cli::WaitRunOptions> options =
//       wait.Options(flags, targets.size());

#ifndef WAITER_CLI_FLAGS_WAIT_FLAGS_H_
#define WAITER_CLI_FLAGS_WAIT_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/flags/policy_flags.h"
#include "cli/run/learned_name.h"
#include "cli/run/shared_rate.h"
#include "cli/run/wait_run.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/options.h"

namespace waiter::cli {

// Thread-compatible.
class WaitFlags {
 public:
  WaitFlags() = default;
  // `AddTo` hands out the address of this.
  WaitFlags(const WaitFlags&) = delete;
  WaitFlags& operator=(const WaitFlags&) = delete;

  // Adds --timeout and the flags that say when the run is ready.
  void AddTo(Flags& flags);

  // Adds the other flags of `PolicyFlags`, and all others that concern time,
  // errors and exit codes.
  void AddTimesTo(Flags& flags);

  // Returns the options that the flags ask for, for a number of targets, or an
  // error that names a flag and the problem.
  absl::StatusOr<WaitRunOptions> Options(const Flags& flags,
                                         size_t targets) const;

  // Returns the time for each poll of the target that is called `label`, in
  // which the target may hold a request for `hold`. Unset: the time for
  // all targets. An error says that such a poll does not fit into --slice.
  absl::StatusOr<std::optional<absl::Duration>> ProbeTimeoutOf(
      const std::string& label, absl::Duration hold) const;

  // Whether PROGRAM runs even if the wait failed.
  bool run_anyway() const { return run_anyway_; }

  // The file in which the run keeps its state; empty if it keeps none.
  const std::string& state_file() const { return state_file_; }

  // The file of durations that the run learns from and adds to, if there is
  // one, and the options of its learned delays.
  const std::optional<LearnedName>& learn() const { return learn_; }
  const LearnedDelaysOptions& learned() const { return learned_; }

  // Whether the run waits until targets are gone.
  bool gone() const { return gone_; }

  // The rate that the run shares with other processes, if it does.
  const std::optional<SharedRate>& shared_rate() const { return shared_rate_; }

  // Time from SIGTERM to SIGKILL.
  absl::Duration kill_after() const { return kill_after_; }

 private:
  absl::StatusOr<size_t> Needed(const Flags& flags, size_t targets) const;
  absl::Status ApplySlice(const Flags& flags, WaitRunOptions& options) const;
  absl::Status ApplyExpectation(const Flags& flags, WaitOptions& policy) const;

  PolicyFlags policy_;
  bool all_ = false;
  bool any_ = false;
  int at_least_ = 0;
  bool gone_ = false;
  bool at_once_ = false;
  absl::Duration hold_;
  int successes_ = 1;
  absl::Duration probe_timeout_ = absl::Seconds(10);
  std::map<std::string, absl::Duration> probe_timeouts_;  // By label.
  absl::Duration absent_timeout_ = absl::InfiniteDuration();
  int max_errors_ = 0;
  bool ignore_retry_after_ = false;
  absl::Duration expected_;
  uint64_t seed_ = 0;
  int timeout_code_ = 124;
  int failure_code_ = 1;
  bool run_anyway_ = false;
  std::optional<SharedRate> shared_rate_;
  std::string state_file_;
  absl::Duration slice_;
  std::optional<LearnedName> learn_;
  LearnedDelaysOptions learned_;
  absl::Duration kill_after_ = absl::Seconds(2);
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_WAIT_FLAGS_H_
