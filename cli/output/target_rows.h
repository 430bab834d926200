// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A table of targets and what they are doing:
//
//   db   NOT_READY  poll 9, next 3s  refused 127.0.0.1:5432
//   web  STARTING   poll 1 for 41s

#ifndef WAITER_CLI_OUTPUT_TARGET_ROWS_H_
#define WAITER_CLI_OUTPUT_TARGET_ROWS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/run/run_state.h"

namespace waiter::cli {

// The cells of one row, all but the last as wide as the column.
struct TargetRow {
  const TargetState* target;
  std::string name;
  std::string state;
  std::string activity;
  std::string found;
};

// Returns a row for each of `targets`, which are indices of `run.targets`.
// Names are cut at `name_columns`, and what was found at `found_columns`.
std::vector<TargetRow> TargetRows(const RunState& run,
                                  absl::Span<const size_t> targets,
                                  size_t name_columns, size_t found_columns);

// Returns which targets to show in so many rows: all, in their order, or else
// as many as there are rows but one, those that are not ready first.
std::vector<size_t> TargetsToShow(const RunState& run, size_t rows);

// Returns "... and 37 more, 12 ready": the row for those that are not `shown`.
// Empty if there are none.
std::string MoreTargets(const RunState& run, absl::Span<const size_t> shown);

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_TARGET_ROWS_H_
