// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The state of a run of `waiter` at one moment, and the interface for listeners
// to its changes, such as progress on a terminal, a log, or the failure
// message:
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
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {

// The state of the wait for one target. All times are since the start of the
// run.
struct TargetState {
  std::string label;  // Such as "db"; `text` if the target has no label.
  std::string text;   // The target as it was given.

  // How long it usually takes until the target is ready, if that is known.
  std::optional<absl::Duration> usual = std::nullopt;

  // The current step of the wait. For `kEnded`, `reason` says why it ended.
  enum class Phase : uint8_t { kStarting, kPolling, kSleeping, kEnded };
  Phase phase = Phase::kStarting;

  int64_t attempts = 0;                // Finished polls.
  std::array<int64_t, 5> counts = {};  // By `PollStatus`.
  int64_t absent = 0;                  // Polls that found the target absent.
  int64_t timed_out = 0;               // Polls that timed out.

  // The finding of the last finished poll, as changed by `--map`, `--gone` and
  // so on; and the last finding that was success or not ready, if any.
  Finding last = {};
  std::optional<Finding> last_good = std::nullopt;

  // Whether the last poll timed out, and the finding of the last one that did
  // not, if any.
  bool last_timed_out = false;
  std::optional<Finding> last_answer = std::nullopt;
  absl::Duration last_ended = absl::ZeroDuration();
  absl::Duration last_took = absl::ZeroDuration();

  // When the poll in progress began, or otherwise the last poll.
  absl::Duration poll_started = absl::ZeroDuration();

  // The delay after the last poll; zero if none.
  absl::Duration next_delay = absl::ZeroDuration();

  // When and why the wait ended.
  absl::Duration ended = absl::ZeroDuration();
  std::optional<StopReason> reason = std::nullopt;
};

struct RunState {
  std::vector<TargetState> targets;
  size_t needed = 1;       // Targets that must be ready.
  bool gone = false;       // The run waits until targets are gone.
  absl::Duration timeout;  // May be infinite.
  absl::Duration elapsed;  // At the time of the call.
  absl::Time started;      // By the wall clock, for logs.

  // Set if an earlier process started the run: the limit that this one asked
  // for, which is not used if it differs from `timeout`.
  std::optional<absl::Duration> resumed_with = std::nullopt;
};

// How a run ended. `reason` is one of "ready", "failed", "guard", "deadline",
// "attempts", "errors", "slice", "interrupted", "invalid".
struct RunEnd {
  int exit_code;
  std::string reason;

  // Details for people, such as the message of the guard, or "SIGINT". May be
  // empty.
  std::string detail = {};

  // For "slice": the time until the next poll.
  absl::Duration next_poll = absl::ZeroDuration();
};

// Listens to a run, on the thread of the run. `target` is an index of
// `run.targets`.
class RunListener {
 public:
  virtual ~RunListener() = default;

  // Called first.
  virtual void OnStart(const RunState& /*run*/) {}

  // Called when a poll has ended and its consequence is known: a delay, or the
  // end of the wait (`kEnded`), after which `OnEnd` follows.
  virtual void OnPoll(const RunState& /*run*/, size_t /*target*/) {}

  // Called when the wait for one target has ended.
  virtual void OnEnd(const RunState& /*run*/, size_t /*target*/) {}

  // Called every 100 ms during the run, and never more often.
  virtual void OnTick(const RunState& /*run*/) {}

  // Called when a user asks for the state of the run.
  virtual void OnSnapshot(const RunState& /*run*/) {}

  // Called last, when the run is over.
  virtual void OnDone(const RunState& /*run*/, const RunEnd& /*end*/) {}

  // Returns an error of the listener, such as a full disk. It is worth a
  // warning, and does not change the outcome of the run.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_RUN_STATE_H_
