// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Writes the progress of a run as lines, for logs such as a CI's:
//
//   waiter: waiting for db (tcp://127.0.0.1:5432), at most 5m
//   waiter: 2ms: db: NOT_READY: refused
//   waiter: 4.52s: db: NOT_READY: starting up
//   waiter: 10s: 0 of 1 ready; db: NOT_READY: starting up (5 polls)
//   waiter: 12.3s: db: ready after 6 polls

#ifndef WAITER_CLI_OUTPUT_PLAIN_PROGRESS_H_
#define WAITER_CLI_OUTPUT_PLAIN_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "cli/run/run_state.h"

namespace waiter::cli {

// Writes a line at the start; for each change that a target reports; at 10 s,
// 30 s, 1 min, 2 min, and then every 2 min; and for each target that is ready.
//
// Limits the lines of a target that changes all the time. After a line about a
// change, the next follows 1 s later at the earliest, then 2 s, 4 s, up to a
// minute. The gaps start again when the target has said the same for a minute.
// A delayed line has the latest state, and skips states in between. The first
// line with a class (NOT_READY, FATAL and so on) is not delayed. All targets
// together write at most 100 such lines in a burst, and one per second after
// that.
class PlainProgress : public RunListener {
 public:
  enum class Lines : uint8_t { kChanges, kPolls };

  // `kPolls` writes a line for each poll. `err` must outlive this.
  PlainProgress(std::ostream& err, Lines lines) : err_(err), lines_(lines) {}

  void OnStart(const RunState& run) override;
  void OnPoll(const RunState& run, size_t target) override;
  void OnEnd(const RunState& run, size_t target) override;
  void OnTick(const RunState& run) override;
  void OnSnapshot(const RunState& run) override;
  void OnDone(const RunState& run, const RunEnd& end) override;

 private:
  struct Told {
    std::string said;                       // Class and text of the last poll.
    std::string told;                       // Class and text of the last line.
    absl::Duration changed;                 // When `said` last changed.
    absl::Duration due;                     // Earliest time of the next line.
    absl::Duration gap = absl::Seconds(1);  // After the next line.
    uint8_t classes = 0;                    // A bit for each class seen.
  };

  void Line(const RunState& run, std::string_view text);
  void TellPoll(const RunState& run, const TargetState& target);
  void TellChange(const RunState& run, size_t target);
  void TellHeartbeat(const RunState& run);

  std::ostream& err_;
  const Lines lines_;
  std::vector<Told> told_;
  absl::Duration next_heartbeat_ = absl::Seconds(10);
  // Earliest time of the next line about a change, of any target. Each line
  // moves it by a second; it may lag by up to 100.
  absl::Duration next_change_ = -absl::InfiniteDuration();
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_PLAIN_PROGRESS_H_
