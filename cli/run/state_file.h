// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The file of --state, with which a run that was killed continues:
//
//   {"version": 1, "started": "2026-03-01T08:00:00.25+00:00", "limit": "1m0s",
//    "targets": [
//     {"target": "db=tcp:db:5432", "ready": true, "polls": 3},
//     {"target": "file:/run/up", "wait": "d757010..."}]}
//
//   const waiter::cli::StateFile file(path);
//   absl::StatusOr<waiter::cli::SavedRun> saved = file.Read(texts);
//   ...
//   saved->targets[1].wait = token;
//   absl::Status written = file.Write(*saved);

#ifndef WAITER_CLI_RUN_STATE_FILE_H_
#define WAITER_CLI_RUN_STATE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/token.h"

namespace waiter::cli {

struct SavedTarget {
  std::string text;     // The target as it was given.
  bool ready = false;   // It was found ready, so no wait is left.
  int64_t polls = 0;    // Polls that it took; unknown (0) unless ready.
  WaitToken wait = {};  // Empty until the first poll has been made.
};

struct SavedRun {
  absl::Time started = absl::InfinitePast();  // Infinite past: not yet.

  // The limit of the wait, which the first start has set.
  std::optional<absl::Duration> limit = std::nullopt;
  std::vector<SavedTarget> targets = {};
};

// Convert between a run and the contents of a file. Invalid contents are
// kInvalidArgument with the problem.
std::string FormatSavedRun(const SavedRun& run);
absl::StatusOr<SavedRun> ParseSavedRun(std::string_view contents);

// Errors name the file. Thread-compatible.
class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  // Returns the run in the file, or, without a file, a run of these targets
  // that has not started. Refuses, with kInvalidArgument, a file that is not a
  // state or that belongs to other targets.
  absl::StatusOr<SavedRun> Read(const std::vector<std::string>& targets) const;

  // Replaces the file in one step, so that a crash leaves the old one or the
  // new one. Only its owner can read it.
  absl::Status Write(const SavedRun& run) const;

  // Removes the file. A missing file is not an error.
  absl::Status Remove() const;

 private:
  absl::Status Error(std::string_view what) const;

  std::string path_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_STATE_FILE_H_
