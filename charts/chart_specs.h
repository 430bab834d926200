// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The files `*.vl.json` of this folder, built in so that the command needs none
// at run time. Their code is generated; see BUILD.bazel.

#ifndef WAITER_CHARTS_CHART_SPECS_H_
#define WAITER_CHARTS_CHART_SPECS_H_

#include <string_view>

#include "absl/types/span.h"

namespace waiter::charts {

struct ChartSpec {
  std::string_view name;  // Of the file, without `.vl.json`.
  std::string_view text;
};

// Returns all of them, by name.
absl::Span<const ChartSpec> ChartSpecs();

}  // namespace waiter::charts

#endif  // WAITER_CHARTS_CHART_SPECS_H_
