// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/snapshot.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/output/target_rows.h"
#include "cli/output/target_text.h"
#include "cli/run/run_state.h"
#include "cli/text/time_text.h"

namespace waiter::cli {
namespace {

constexpr size_t kMostRows = 40;
constexpr size_t kFoundColumns = 200;

}  // namespace

std::string SnapshotText(const RunState& run) {
  const std::vector<size_t> shown = TargetsToShow(run, kMostRows);
  std::string text = absl::StrCat("waiter: ", TimeText(run.elapsed));
  if (run.timeout < absl::InfiniteDuration()) {
    absl::StrAppend(&text, " of ", TimeText(run.timeout));
  }
  absl::StrAppend(&text, ": ", ReadyCount(run), " of ", run.targets.size(), " ",
                  ReadyWord(run), "\n");
  for (const TargetRow& row :
       TargetRows(run, shown, kMostNameColumns, kFoundColumns)) {
    const std::string line = absl::StrCat("  ", row.name, "  ", row.state, "  ",
                                          row.activity, "  ", row.found);
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  const std::string more = MoreTargets(run, shown);
  if (!more.empty()) absl::StrAppend(&text, "  ", more, "\n");
  return text;
}

}  // namespace waiter::cli
