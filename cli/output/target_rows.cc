// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/target_rows.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cli/output/target_text.h"
#include "cli/run/run_state.h"
#include "cli/text/fitted_text.h"

namespace waiter::cli {
namespace {

void PadColumn(std::vector<TargetRow>& rows, std::string TargetRow::*cell) {
  size_t widest = 0;
  for (const TargetRow& row : rows) {
    widest = std::max(widest, Columns(row.*cell));
  }
  for (TargetRow& row : rows) row.*cell = Padded(std::move(row.*cell), widest);
}

}  // namespace

std::vector<TargetRow> TargetRows(const RunState& run,
                                  absl::Span<const size_t> targets,
                                  size_t name_columns, size_t found_columns) {
  std::vector<TargetRow> rows;
  rows.reserve(targets.size());
  for (const size_t index : targets) {
    const TargetState& target = run.targets[index];
    rows.push_back({.target = &target,
                    .name = Fitted(target.label, name_columns),
                    .state = StateText(run, target),
                    .activity = ActivityText(run, target),
                    .found = FoundText(target.last, found_columns)});
  }
  PadColumn(rows, &TargetRow::name);
  PadColumn(rows, &TargetRow::state);
  PadColumn(rows, &TargetRow::activity);
  return rows;
}

std::vector<size_t> TargetsToShow(const RunState& run, size_t rows) {
  std::vector<size_t> targets;
  if (run.targets.size() <= rows) {
    targets.resize(run.targets.size());
    std::iota(targets.begin(), targets.end(), size_t{0});
  } else {
    targets = UnreadyFirst(run);
    targets.resize(std::max(rows, size_t{1}) - 1);
  }
  return targets;
}

std::string MoreTargets(const RunState& run, absl::Span<const size_t> shown) {
  const size_t more = run.targets.size() - shown.size();
  if (more == 0) return "";
  const auto shown_ready = static_cast<size_t>(std::count_if(
      shown.begin(), shown.end(),
      [&](size_t target) { return IsReady(run.targets[target]); }));
  return absl::StrCat("... and ", more, " more, ",
                      ReadyCount(run) - shown_ready, " ", ReadyWord(run));
}

}  // namespace waiter::cli
