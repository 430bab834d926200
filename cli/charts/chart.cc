// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/charts/chart.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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
namespace {

nlohmann::ordered_json Rows(const std::deque<ChartRow>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const ChartRow& row : rows) array.push_back(row.ToJson());
  return array;
}

}  // namespace

ChartRow& ChartRow::Text(std::string_view field, std::string_view value) {
  return Add(field, std::string(value));
}

ChartRow& ChartRow::Number(std::string_view field, double value) {
  return Add(field, Value(value));
}

ChartRow& ChartRow::Boolean(std::string_view field, bool value) {
  return Add(field, Value(value));
}

ChartRow& ChartRow::Add(std::string_view field, Value value) {
  fields_.emplace_back(field, std::move(value));
  return *this;
}

nlohmann::ordered_json ChartRow::ToJson() const {
  nlohmann::ordered_json row = nlohmann::ordered_json::object();
  for (const auto& [field, value] : fields_) {
    if (const auto* const number = std::get_if<double>(&value)) {
      row[field] = cli::JsonNumber(*number);
    } else if (const auto* const boolean = std::get_if<bool>(&value)) {
      row[field] = *boolean;
    } else {
      row[field] = std::get<std::string>(value);
    }
  }
  return row;
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
    filled.replace(at + empty.size() - 2, 2, cli::JsonText(Rows(rows)));
  }
  return filled;
}

nlohmann::ordered_json ChartData(const Chart& chart) {
  nlohmann::ordered_json data = nlohmann::ordered_json::object();
  for (const auto& [name, rows] : chart.data()) data[name] = Rows(rows);
  return data;
}

}  // namespace waiter::charts
