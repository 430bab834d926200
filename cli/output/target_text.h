// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Text about targets and their activity, for people.
//
// Parts of a line:
//
//   out << waiter::cli::StateText(run, target) << ": "
//       << waiter::cli::FoundText(target.last, 80);    // NOT_READY: refused
//
// Rows of a table:
//
//   db   NOT_READY  poll 9, next 3s  refused 127.0.0.1:5432
//   web  STARTING   poll 1 for 41s
//
// A snapshot of the run, which SIGUSR1 asks for:
//
//   waiter: 42s of 5m: 1 of 3 ready
//     db   NOT_READY  poll 9, next 3s  refused 127.0.0.1:5432
//     web  STARTING   poll 1 for 41s

#ifndef WAITER_CLI_OUTPUT_TARGET_TEXT_H_
#define WAITER_CLI_OUTPUT_TARGET_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"

namespace waiter::cli {

// The widest name that is shown.
inline constexpr size_t kMostNameColumns = 40;

// Returns whether the wait for `target` has succeeded.
bool IsReady(const TargetState& target);

// Returns the number of targets for which `IsReady` holds.
size_t ReadyCount(const RunState& run);

// Returns "ready", or "gone" if the run waits until its targets are gone.
std::string ReadyWord(const RunState& run);

// Returns the label of `target`, in at most `kMostNameColumns`.
std::string NameText(const TargetState& target);

// Returns "STARTING", "READY", "GONE", or the class of the last poll.
std::string StateText(const RunState& run, const TargetState& target);

// Returns the number with its noun, such as "1 poll" or "9 polls".
std::string PollsText(int64_t polls);

// Returns the activity of the target, with times in seconds: "poll 9, next 3s",
// "poll 10 for 2s, usually 40s" or "9 polls".
std::string ActivityText(const RunState& run, const TargetState& target);

// Returns the detail of `found` after its progress, if it has any, such as
// "66% 2 of 3 nodes".
std::string FoundText(const Finding& found, size_t columns);

// Returns the state, and the last poll's finding if there is one, such as
// "NOT_READY: refused".
std::string LastText(const RunState& run, const TargetState& target,
                     size_t columns);

// Returns the indices of all targets; targets that are not ready come first.
std::vector<size_t> UnreadyFirst(const RunState& run);

// The cells of one row. Each cell except the last is padded to the width of its
// column.
struct TargetRow {
  const TargetState* target;
  std::string name;
  std::string state;
  std::string activity;
  std::string found;
};

// Returns a row for each of `targets`, which are indices of `run.targets`.
// Cuts names at `name_columns`, and findings at `found_columns`.
std::vector<TargetRow> TargetRows(const RunState& run,
                                  absl::Span<const size_t> targets,
                                  size_t name_columns, size_t found_columns);

// Returns which targets to show in `rows` rows. These are all targets in their
// order if they fit. Otherwise one row stays free for `MoreTargets`, and
// targets that are not ready come first.
std::vector<size_t> TargetsToShow(const RunState& run, size_t rows);

// Returns the row for the targets that are not `shown`, such as
// "... and 37 more, 12 ready". Empty if all are shown.
std::string MoreTargets(const RunState& run, absl::Span<const size_t> shown);

// Returns the lines of a snapshot, with at most 40 rows. If there are more
// targets, targets that are not ready come first.
std::string SnapshotText(const RunState& run);

// Writes snapshots and nothing else. `err` must outlive this.
class Snapshots : public RunListener {
 public:
  explicit Snapshots(std::ostream& err) : err_(err) {}

  void OnSnapshot(const RunState& run) override {
    err_ << SnapshotText(run) << std::flush;
  }

 private:
  std::ostream& err_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TARGET_TEXT_H_
