// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/telemetry/prometheus_text.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "waiter/internal/string_views.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/telemetry/metrics_table.h"

namespace waiter {
namespace {

using internal::ToAbsl;

absl::string_view TypeName(InstrumentKind kind) {
  switch (kind) {
    case InstrumentKind::kHistogram:
      return "histogram";
    case InstrumentKind::kCounter:
      return "counter";
    default:
      return "gauge";
  }
}

std::string Number(double value) { return absl::StrFormat("%.16g", value); }

// Returns `{a="x",b="y"}`, with a last label `le` unless that is empty.
std::string Labels(const MetricSample& sample, absl::string_view le) {
  std::string text;
  for (const auto& [name, value] : sample.labels) {
    absl::StrAppend(&text, text.empty() ? "{" : ",", ToAbsl(name), "=\"",
                    absl::StrReplaceAll(
                        value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
                    "\"");
  }
  if (!le.empty()) {
    absl::StrAppend(&text, text.empty() ? "{" : ",", "le=\"", le, "\"");
  }
  if (!text.empty()) text += "}";
  return text;
}

void AppendHistogram(const std::string& name, const MetricFamily& family,
                     const MetricSample& sample, std::string& text) {
  uint64_t count = 0;
  for (size_t i = 0; i < sample.buckets.size(); ++i) {
    count += sample.buckets[i];
    absl::StrAppend(
        &text, name, "_bucket",
        Labels(sample,
               i < family.bounds.size() ? Number(family.bounds[i]) : "+Inf"),
        " ", count, "\n");
  }
  absl::StrAppend(&text, name, "_sum", Labels(sample, ""), " ",
                  Number(sample.value), "\n", name, "_count",
                  Labels(sample, ""), " ", count, "\n");
}

}  // namespace

std::string PrometheusName(const InstrumentInfo& info) {
  std::string name = absl::StrReplaceAll(ToAbsl(info.name), {{".", "_"}});
  if (info.unit == "s") name += "_seconds";
  if (info.kind == InstrumentKind::kCounter) name += "_total";
  return name;
}

std::string PrometheusText(const MetricsTable& table) {
  std::string text;
  for (const MetricFamily& family : table.Collect()) {
    const std::string name = PrometheusName(family.info);
    absl::StrAppend(&text, "# HELP ", name, " ",
                    ToAbsl(family.info.description), "\n# TYPE ", name, " ",
                    TypeName(family.info.kind), "\n");
    for (const MetricSample& sample : family.samples) {
      if (family.info.kind == InstrumentKind::kHistogram) {
        AppendHistogram(name, family, sample, text);
      } else {
        absl::StrAppend(&text, name, Labels(sample, ""), " ",
                        Number(sample.value), "\n");
      }
    }
  }
  return text;
}

}  // namespace waiter
