// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "waiter/internal/string_views.h"
#include "waiter/telemetry/metrics.h"

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

// Returns the length of the UTF-8 character at the start of `text`, or 0 if
// there is no valid one.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  // Neither overlong nor a surrogate nor above U+10FFFF.
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  return length;
}

// Returns `{a="x",b="y"}`, with a last label `le` unless that is empty.
std::string Labels(const MetricSample& sample, absl::string_view le) {
  std::string text;
  for (const auto& [name, value] : sample.labels) {
    absl::StrAppend(
        &text, text.empty() ? "{" : ",", ToAbsl(name), "=\"",
        absl::StrReplaceAll(PrometheusLabelValue(value),
                            {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
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

std::string PrometheusLabelValue(std::string_view value) {
  std::string text;
  for (absl::string_view rest = ToAbsl(value); !rest.empty();) {
    const size_t length = CharacterLength(rest);
    if (length == 0) {
      absl::StrAppendFormat(&text, "\\x%02x",
                            static_cast<unsigned char>(rest[0]));
    } else {
      text.append(rest.data(), length);
    }
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string PrometheusText(const MetricsTable& table) {
  return PrometheusText(table.Collect());
}

std::string PrometheusText(const std::vector<MetricFamily>& families) {
  std::string text;
  for (const MetricFamily& family : families) {
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
