// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What is known of a run of `waiter` at one moment, and who is told of changes:
// the progress on a terminal, the lines of a log, the message at its end.
//
//   class Plain : public waiter::cli::RunListener {
//     void OnPoll(const RunState& run, size_t target) override {
//       err_ << run.targets[target].label << ": "
//            << run.targets[target].last.detail << '\n';
//     }
//   };

#ifndef WAITER_CLI_RUN_RUN_STATE_H_
#define WAITER_CLI_RUN_RUN_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/probes/probe.h"
#include "waiter/poll_status.h"
#include "waiter/wait_report.h"

namespace waiter::cli {

// All times are since the start of the run.
struct TargetState {
  std::string label;  // "db", or the target itself where it has no label.
  std::string text;   // The target as it was given.

  // What the target is doing now. `kEnded`: `reason` says how.
  enum class Phase : uint8_t { kStarting, kPolling, kSleeping, kEnded };
  Phase phase = Phase::kStarting;

  int64_t attempts = 0;                // Finished polls.
  std::array<int64_t, 5> counts = {};  // By `PollStatus`.
  int64_t absent = 0;                  // Those whose finding was `absent`.
  int64_t timed_out = 0;               // Those that took all of their time.

  // The last finished poll, after `--map`, `--gone` and so on; and the last
  // that was no error, if there was one.
  Finding last = {};
  std::optional<Finding> last_good = std::nullopt;
  absl::Duration last_ended = absl::ZeroDuration();
  absl::Duration last_took = absl::ZeroDuration();

  // When the poll under way began, or else the last.
  absl::Duration poll_started = absl::ZeroDuration();

  // The delay after the last poll; zero if none. When the wait ended, and why.
  absl::Duration next_delay = absl::ZeroDuration();
  absl::Duration ended = absl::ZeroDuration();
  std::optional<StopReason> reason = std::nullopt;
};

struct RunState {
  std::vector<TargetState> targets;
  size_t needed = 1;       // Targets that must be ready.
  bool gone = false;       // What is waited for is that they are gone.
  absl::Duration timeout;  // May be infinite.
  absl::Duration elapsed;  // As of the call.
  absl::Time started;      // By the wall clock, for logs.
};

// How a run ended. `reason` is one of "ready", "failed", "guard", "deadline",
// "attempts", "errors", "interrupted", "invalid".
struct RunEnd {
  int exit_code;
  std::string reason;

  // For people, where there is more to say: what the guard found, or "SIGINT".
  std::string detail = {};
};

// Is told on the thread of the run. `target` is an index of `run.targets`.
class RunListener {
 public:
  virtual ~RunListener() = default;

  virtual void OnStart(const RunState& /*run*/) {}

  // A poll has ended, and it is known what comes after it: a delay, or an end
  // (`kEnded`), which `OnEnd` tells next.
  virtual void OnPoll(const RunState& /*run*/, size_t /*target*/) {}

  // The wait for one target has ended.
  virtual void OnEnd(const RunState& /*run*/, size_t /*target*/) {}

  // Called every 100 ms while the run goes on, and never more often.
  virtual void OnTick(const RunState& /*run*/) {}

  // Somebody asked what is going on.
  virtual void OnSnapshot(const RunState& /*run*/) {}

  // The run is over: the last call.
  virtual void OnDone(const RunState& /*run*/, const RunEnd& /*end*/) {}

  // What went wrong with telling, as a full disk: a failure of the command.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_RUN_STATE_H_
