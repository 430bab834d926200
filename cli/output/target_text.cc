// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/target_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/output/run_log.h"
#include "cli/probes/probe.h"
#include "cli/run/run_state.h"
#include "cli/text/fitted_text.h"
#include "cli/text/time_text.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostSnapshotRows = 40;
constexpr size_t kSnapshotFoundColumns = 200;

void PadColumn(std::vector<TargetRow>& rows, std::string TargetRow::*cell) {
  size_t widest = 0;
  for (const TargetRow& row : rows) {
    widest = std::max(widest, Columns(row.*cell));
  }
  for (TargetRow& row : rows) row.*cell = Padded(std::move(row.*cell), widest);
}

std::string UsualText(const TargetState& target) {
  return target.usual.has_value()
             ? absl::StrCat(", usually ", TimeText(*target.usual))
             : "";
}

// Returns the labels of `targets`, each in at most `columns`. If they are cut,
// they differ where possible.
std::vector<std::string> Names(const RunState& run,
                               absl::Span<const size_t> targets,
                               size_t columns) {
  std::vector<std::string> best;
  size_t most = 0;
  // Files and URLs of one place differ at their end.
  for (const size_t tail : {columns / 2, columns - 3, size_t{0}}) {
    std::vector<std::string> names;
    names.reserve(targets.size());
    for (const size_t target : targets) {
      names.push_back(
          FittedBeforeEnd(run.targets[target].label, columns, tail));
    }
    const size_t different = std::set(names.begin(), names.end()).size();
    if (different > most) best = std::move(names);
    most = std::max(most, different);
  }
  return best;
}

}  // namespace

bool IsReady(const TargetState& target) {
  return target.reason == StopReason::kSuccess;
}

size_t ReadyCount(const RunState& run) {
  return static_cast<size_t>(
      std::count_if(run.targets.begin(), run.targets.end(), IsReady));
}

std::string ReadyWord(const RunState& run) {
  return run.gone ? "gone" : "ready";
}

std::string NameText(const TargetState& target) {
  return FittedBeforeEnd(target.label, kMostNameColumns, kMostNameColumns / 2);
}

std::string StateText(const RunState& run, const TargetState& target) {
  if (IsReady(target)) return absl::AsciiStrToUpper(ReadyWord(run));
  if (target.attempts == 0) return "STARTING";
  return std::string(LogClass(target.last.status));
}

std::string PollsText(int64_t polls) {
  return absl::StrCat(polls, polls == 1 ? " poll" : " polls");
}

std::string ActivityText(const RunState& run, const TargetState& target) {
  constexpr absl::Duration kSecond = absl::Seconds(1);
  switch (target.phase) {
    case TargetState::Phase::kStarting:
      return "not polled yet";
    case TargetState::Phase::kPolling: {
      std::string poll = absl::StrCat("poll ", target.attempts + 1);
      const absl::Duration took = run.elapsed - target.poll_started;
      if (took >= kSecond) {
        absl::StrAppend(&poll, " for ",
                        absl::FormatDuration(absl::Floor(took, kSecond)));
      }
      return absl::StrCat(poll, UsualText(target));
    }
    case TargetState::Phase::kSleeping: {
      const absl::Duration left =
          std::max(target.last_ended + target.next_delay - run.elapsed,
                   absl::ZeroDuration());
      const std::string next =
          absl::StrCat("next ",
                       left == absl::ZeroDuration()
                           ? "now"
                           : absl::FormatDuration(absl::Ceil(left, kSecond)),
                       UsualText(target));
      return target.attempts == 0
                 ? next
                 : absl::StrCat("poll ", target.attempts, ", ", next);
    }
    case TargetState::Phase::kEnded:
      break;
  }
  return PollsText(target.attempts);
}

std::string FoundText(const Finding& found, size_t columns) {
  if (!found.progress.has_value()) return Fitted(found.detail, columns);
  const double share = std::clamp(*found.progress, 0.0, 1.0);
  std::string text = absl::StrCat(static_cast<int>(share * 100), "%");
  const size_t used = text.size() + 1;
  if (!found.detail.empty() && columns > used) {
    absl::StrAppend(&text, " ", Fitted(found.detail, columns - used));
  }
  return text;
}

std::string LastText(const RunState& run, const TargetState& target,
                     size_t columns) {
  std::string state = StateText(run, target);
  if (target.attempts == 0) return state;
  const std::string found = FoundText(target.last, columns);
  return found.empty() ? state : absl::StrCat(state, ": ", found);
}

std::vector<size_t> UnreadyFirst(const RunState& run) {
  std::vector<size_t> order(run.targets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t target) {
    return !IsReady(run.targets[target]);
  });
  return order;
}

std::vector<TargetRow> TargetRows(const RunState& run,
                                  absl::Span<const size_t> targets,
                                  size_t name_columns, size_t found_columns) {
  std::vector<TargetRow> rows;
  rows.reserve(targets.size());
  std::vector<std::string> names = Names(run, targets, name_columns);
  for (const size_t index : targets) {
    const TargetState& target = run.targets[index];
    rows.push_back({.target = &target,
                    .name = std::move(names[rows.size()]),
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

std::string SnapshotText(const RunState& run) {
  const std::vector<size_t> shown = TargetsToShow(run, kMostSnapshotRows);
  std::string text = absl::StrCat("waiter: ", TimeText(run.elapsed));
  if (run.timeout < absl::InfiniteDuration()) {
    absl::StrAppend(&text, " of ", TimeText(run.timeout));
  }
  absl::StrAppend(&text, ": ", ReadyCount(run), " of ", run.targets.size(), " ",
                  ReadyWord(run), "\n");
  for (const TargetRow& row :
       TargetRows(run, shown, kMostNameColumns, kSnapshotFoundColumns)) {
    const std::string line = absl::StrCat("  ", row.name, "  ", row.state, "  ",
                                          row.activity, "  ", row.found);
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  const std::string more = MoreTargets(run, shown);
  if (!more.empty()) absl::StrAppend(&text, "  ", more, "\n");
  return text;
}

}  // namespace waiter::cli
