// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The parts of a page of charts, built in. BUILD.bazel generates the code.

#ifndef WAITER_CLI_CHARTS_PAGE_PAGE_PARTS_H_
#define WAITER_CLI_CHARTS_PAGE_PAGE_PARTS_H_

#include <string_view>

namespace waiter::charts {

extern const std::string_view kChartSpecs;   // JSON: Vega by the chart's name.
extern const std::string_view kVega;         // JavaScript.
extern const std::string_view kVegaLicense;  // Text.
extern const std::string_view kPageScript;   // JavaScript.
extern const std::string_view kPageStyle;    // CSS.

}  // namespace waiter::charts

#endif  // WAITER_CLI_CHARTS_PAGE_PAGE_PARTS_H_
