// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/read_durations.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/read_input.h"
#include "cli/output/logged_waits.h"
#include "cli/output/run_log.h"
#include "waiter/learned/durations.h"

namespace waiter::cli {

absl::StatusOr<KnownDurations> ReadDurations(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadInput(path);
  if (!text.ok()) return text.status();
  KnownDurations known = {.model = std::make_shared<DurationModel>()};
  const std::string_view contents = *text;
  const std::string_view rest = absl::StripLeadingAsciiWhitespace(contents);
  if (!rest.empty() && rest.front() == '{') {
    const absl::StatusOr<RunLog> log = ParseRunLog(*text, path);
    if (!log.ok()) return log.status();
    for (const LoggedWait& wait : WaitsOf(*log)) {
      known.model->Record(wait.target, wait.duration);
    }
    return known;
  }
  const absl::Status merged =
      known.model->Merge(contents, &known.damaged_lines);
  if (merged.ok()) return known;
  return absl::InvalidArgumentError(
      absl::StrCat(path, " ", merged.message(),
                   absl::IsInvalidArgument(merged)
                       ? ", and the file is not a log of waiter --log-json"
                       : ""));
}

}  // namespace waiter::cli
