// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Metrics in the text format of Prometheus, for a page /metrics of your own:
//
//   # HELP waiter_wait_duration_seconds Time from the start of a wait to its
//   # TYPE waiter_wait_duration_seconds histogram
//   waiter_wait_duration_seconds_bucket{operation="create instance",le="1"} 2
//   ...

#ifndef WAITER_TELEMETRY_PROMETHEUS_TEXT_H_
#define WAITER_TELEMETRY_PROMETHEUS_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "waiter/telemetry/metrics.h"
#include "waiter/telemetry/metrics_table.h"

namespace waiter {

// The `Content-Type` of an HTTP response with the text of `PrometheusText`.
inline constexpr const char* kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

// Returns all metrics of `table`. Dots in names become underscores, and units
// and types become suffixes: `waiter_wait_duration_seconds`,
// `waiter_engine_polls_total`.
std::string PrometheusText(const MetricsTable& table);
// The same of `families`, such as those of telemetry/durable_metrics.h.
std::string PrometheusText(const std::vector<MetricFamily>& families);

// Returns the name that Prometheus has for an instrument.
std::string PrometheusName(const InstrumentInfo& info);

// Returns the value of a label as UTF-8. Prometheus would refuse the whole text
// because of one invalid byte, so each becomes a text such as `\xff`.
std::string PrometheusLabelValue(std::string_view value);

}  // namespace waiter

#endif  // WAITER_TELEMETRY_PROMETHEUS_TEXT_H_
