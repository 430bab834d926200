// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The flags that ask for pictures: --vega, --html and --chart.
//
//   waiter::cli::ChartOutput output;
//   output.AddTo(flags, {"schedule", "cumulative"});
//   ...
//   if (output.wanted()) status = output.Write(charts, flags);
//
// `--html` runs the program `waiter-page`, which has the drawing library in it,
// so that this one stays small.

#ifndef WAITER_CLI_COMMANDS_CHART_OUTPUT_H_
#define WAITER_CLI_COMMANDS_CHART_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "charts/chart.h"
#include "cli/flags/flags.h"

namespace waiter::cli {

// Thread-compatible.
class ChartOutput {
 public:
  ChartOutput() = default;
  // `AddTo` hands out its address.
  ChartOutput(const ChartOutput&) = delete;
  ChartOutput& operator=(const ChartOutput&) = delete;

  // Adds the flags; `charts` are the names that `--chart` may choose.
  void AddTo(Flags& flags, std::vector<std::string> charts);

  // Returns whether there is anything to write.
  bool wanted() const { return !vega_.empty() || !html_.empty(); }

  // Writes the files. kInvalidArgument if the chosen chart is not among
  // `charts`, as it needs a flag that was not given; kUnavailable if a file
  // cannot be written or `waiter-page` is not there. `flags` are those of
  // `AddTo`, for the names in the errors.
  absl::Status Write(absl::Span<const charts::Chart> charts,
                     const Flags& flags) const;

 private:
  std::string vega_;
  std::string html_;
  std::string chart_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_CHART_OUTPUT_H_
