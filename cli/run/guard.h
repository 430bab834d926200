// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Ends a wait that has become pointless, as what is waited for can no longer
// come:
//
//   waiter::cli::Guard guard(reaper, {.while_pid = server_pid},
//                       [&](const absl::Status& why) {
//                         // "--while-pid=123: process 123 has ended"
//                         std::cerr << why.message() << '\n';
//                       });

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

// Each is watched that is given.
struct GuardOptions {
  // A process that must run. Positive.
  std::optional<pid_t> while_pid = std::nullopt;

  // A command for the shell that must exit with 0.
  std::string while_running = {};

  // A command for the shell that must not.
  std::string fail_if = {};

  // The delay between the end of a command and its next start.
  absl::Duration every = absl::Milliseconds(500);

  // How long a command may take. A `while_running` that takes longer counts as
  // failed, and so does a `fail_if`, which is asked again then.
  absl::Duration timeout = absl::Seconds(10);
};

// Thread-compatible.
class Guard {
 public:
  using Broken = std::function<void(const absl::Status&)>;

  // Looks at once, and then again and again. Calls `broken` once, on the loop,
  // with one line that tells which guard it was and what it saw: kAborted, or
  // kInvalidArgument if a command cannot be run.
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
