// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The texts of the files `*.vl.json` of this folder. They are built in, so that
// programs need no files at run time. BUILD.bazel generates the code.

#ifndef WAITER_CLI_CHARTS_CHART_SPECS_H_
#define WAITER_CLI_CHARTS_CHART_SPECS_H_

#include <string_view>

#include "absl/types/span.h"

namespace waiter::charts {

// One file.
struct ChartSpec {
  std::string_view name;  // Name of the file without `.vl.json`.
  std::string_view text;
};

// Returns all files, sorted by name.
absl::Span<const ChartSpec> ChartSpecs();

}  // namespace waiter::charts

#endif  // WAITER_CLI_CHARTS_CHART_SPECS_H_
