// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Flags that ask for charts, and the files that they ask for:
//
//   waiter::cli::ChartOutput output;
//   output.AddTo(flags, {"schedule", "cumulative"});
//   ...
//   absl::Status status = output.Write(charts, flags);
//
// `--html` runs the program `waiter-page`, which contains the drawing library,
// so that `waiter` stays small.

#ifndef WAITER_CLI_COMMANDS_CHART_OUTPUT_H_
#define WAITER_CLI_COMMANDS_CHART_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/flags/flags.h"

namespace waiter::cli {

// Thread-compatible.
class ChartOutput {
 public:
  ChartOutput() = default;
  // `AddTo` hands out the address of this.
  ChartOutput(const ChartOutput&) = delete;
  ChartOutput& operator=(const ChartOutput&) = delete;

  // Adds --vega, --html and, if there is a choice, --chart. `charts` are the
  // names that `--chart` accepts.
  void AddTo(Flags& flags, std::vector<std::string> charts);

  // Returns whether a flag asks for a file.
  bool wanted() const { return !vega_.empty() || !html_.empty(); }

  // Writes the files that flags ask for. The page shows `scenario`, a sentence
  // about what was simulated, if not empty. Returns kInvalidArgument if the
  // chosen
  // chart is not among `charts`, as it needs a flag that was not given, and
  // kUnavailable if a file cannot be written or `waiter-page` is missing.
  // `flags` must be the argument of `AddTo`; errors name flags by it.
  absl::Status Write(absl::Span<const charts::Chart> charts, const Flags& flags,
                     std::string_view scenario) const;

 private:
  std::string vega_;
  std::string html_;
  std::string chart_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_CHART_OUTPUT_H_
