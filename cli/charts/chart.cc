// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/charts/chart.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cli/charts/chart_specs.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace waiter::charts {

void Chart::Add(std::string_view data_set, nlohmann::ordered_json row) {
  for (nlohmann::ordered_json& value : row) {
    if (value.is_number_float()) value = cli::JsonNumber(value.get<double>());
  }
  data_[std::string(data_set)].push_back(std::move(row));
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
    filled.replace(at + empty.size() - 2, 2, cli::JsonText(rows));
  }
  return filled;
}

nlohmann::ordered_json ChartData(const Chart& chart) {
  nlohmann::ordered_json data = nlohmann::ordered_json::object();
  for (const auto& [name, rows] : chart.data()) data[name] = rows;
  return data;
}

}  // namespace waiter::charts
