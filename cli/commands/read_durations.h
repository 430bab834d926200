// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads durations from a file that `waiter --learn` keeps, or from a log:
//
//   absl::StatusOr<waiter::cli::KnownDurations> known =
//       waiter::cli::ReadDurations("run.jsonl");
//   for (const std::string& operation : known->model->Operations()) { ... }

#ifndef WAITER_CLI_COMMANDS_READ_DURATIONS_H_
#define WAITER_CLI_COMMANDS_READ_DURATIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "waiter/learned/durations.h"

namespace waiter::cli {

struct KnownDurations {
  std::shared_ptr<DurationModel> model;
  int64_t damaged_lines = 0;
};

// Returns the durations of the file `path`, or of standard input if that is
// "-". The durations of a log belong to its targets. Returns kInvalidArgument,
// with the path and the reason, if the file has neither or cannot be read.
absl::StatusOr<KnownDurations> ReadDurations(const std::string& path);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_READ_DURATIONS_H_
