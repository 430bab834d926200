// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "charts/chart.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "charts/chart_specs.h"
#include "json/json.h"

namespace waiter::charts {
namespace {

std::string RowsJson(const std::deque<ChartRow>& rows) {
  return absl::StrCat("[",
                      absl::StrJoin(rows, ",\n",
                                    [](std::string* out, const ChartRow& row) {
                                      absl::StrAppend(out, row.ToJson());
                                    }),
                      "]");
}

}  // namespace

ChartRow& ChartRow::Text(std::string_view field, std::string_view value) {
  return Add(field, QuoteJson(value));
}

ChartRow& ChartRow::Number(std::string_view field, double value) {
  return Add(field, JsonNumber(value));
}

ChartRow& ChartRow::Boolean(std::string_view field, bool value) {
  return Add(field, value ? "true" : "false");
}

ChartRow& ChartRow::Add(std::string_view field, std::string_view json) {
  absl::StrAppend(&members_, members_.empty() ? "" : ",", QuoteJson(field), ":",
                  json);
  return *this;
}

std::string ChartRow::ToJson() const {
  return absl::StrCat("{", members_, "}");
}

ChartRow& Chart::Add(std::string_view data_set) {
  return data_[std::string(data_set)].emplace_back();
}

std::vector<std::string> ChartNames() {
  std::vector<std::string> names;
  for (const ChartSpec& spec : ChartSpecs()) names.emplace_back(spec.name);
  return names;
}

absl::StatusOr<std::string> FillChart(const Chart& chart) {
  const absl::Span<const ChartSpec> specs = ChartSpecs();
  const auto* const spec = std::find_if(
      specs.begin(), specs.end(),
      [&](const ChartSpec& known) { return known.name == chart.name(); });
  if (spec == specs.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no chart '", chart.name(), "'; choose one of ",
                     absl::StrJoin(ChartNames(), ", ")));
  }
  std::string filled(spec->text);
  for (const auto& [name, rows] : chart.data()) {
    const std::string empty = absl::StrCat("\"", name, "\": []");
    const size_t at = filled.find(empty);
    if (at == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "chart '", chart.name(), "' has no data set '", name, "'"));
    }
    filled.replace(at + empty.size() - 2, 2, RowsJson(rows));
  }
  return filled;
}

std::string ChartDataJson(const Chart& chart) {
  return absl::StrCat("{",
                      absl::StrJoin(chart.data(), ",\n",
                                    [](std::string* out, const auto& data_set) {
                                      absl::StrAppend(
                                          out, QuoteJson(data_set.first), ":",
                                          RowsJson(data_set.second));
                                    }),
                      "}");
}

}  // namespace waiter::charts
