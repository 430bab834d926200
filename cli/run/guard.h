// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Ends a pointless wait, such as a wait for a server whose process has ended:
//
//   waiter::cli::Guard guard(
//       reaper, {.while_pid = server_pid}, [&](const absl::Status& why) {
//         std::cerr << why.message() << '\n';
//         // --while-pid=123: process 123 has ended, or never existed
//       });

#ifndef WAITER_CLI_RUN_GUARD_H_
#define WAITER_CLI_RUN_GUARD_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/process/pid_watch.h"
#include "cli/process/process_reaper.h"

namespace waiter::cli {

// Conditions of a guard. Each is watched if it is set.
struct GuardOptions {
  // A process that must run. Must be positive.
  std::optional<pid_t> while_pid = std::nullopt;

  // A shell command that must exit with 0.
  std::string while_running = {};

  // A shell command that must not exit with 0.
  std::string fail_if = {};

  // Delay between the end of a shell command and its next start.
  absl::Duration every = absl::Milliseconds(500);

  // Longest time that a shell command may take. A command that takes longer
  // counts as failed: this breaks a guard by `while_running`, and `fail_if`
  // runs again.
  absl::Duration timeout = absl::Seconds(10);
};

// Thread-compatible.
class Guard {
 public:
  using Broken = std::function<void(const absl::Status&)>;

  // Checks all conditions immediately, and then again and again. Calls
  // `broken`, on the loop and at most once, when a condition no longer holds.
  // The status is kAborted, or kInvalidArgument if a shell command cannot be
  // run or has a syntax error. Its message is one line with the flag of the
  // condition and the reason.
  Guard(ProcessReaper& reaper, const GuardOptions& options, Broken broken);
  ~Guard();

  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  class RepeatedCommand;

  void Break(const absl::Status& why);

  Broken broken_;
  std::optional<PidWatch> pid_;
  std::vector<std::unique_ptr<RepeatedCommand>> commands_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_GUARD_H_
