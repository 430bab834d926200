// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What a page of charts is made of, built in. Its code is generated; see
// BUILD.bazel.

#ifndef WAITER_CHARTS_PAGE_PAGE_PARTS_H_
#define WAITER_CHARTS_PAGE_PAGE_PARTS_H_

#include <string_view>

namespace waiter::charts {

extern const std::string_view kChartSpecs;   // JSON: Vega by name of the chart.
extern const std::string_view kVega;         // JavaScript.
extern const std::string_view kVegaLicense;  // Text.
extern const std::string_view kPageScript;   // JavaScript.

}  // namespace waiter::charts

#endif  // WAITER_CHARTS_PAGE_PAGE_PARTS_H_
