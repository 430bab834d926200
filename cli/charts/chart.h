// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Charts of this folder, filled with data. A chart is a Vega-Lite
// specification, `NAME.vl.json`, whose data sets are empty:
//
//   waiter::charts::Chart chart("fleet");
//   chart.Add("seconds").Text("jitter", "full").Number("second", 0)
//                       .Number("polls", 500);
//   absl::StatusOr<std::string> spec = waiter::charts::FillChart(chart);
//
// Any editor for Vega opens the result.

#ifndef WAITER_CLI_CHARTS_CHART_H_
#define WAITER_CLI_CHARTS_CHART_H_

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace waiter::charts {

// One row of a data set: the members of a JSON object.
class ChartRow {
 public:
  // Add a field and return the row. A number that is not finite becomes null,
  // which charts leave out.
  ChartRow& Text(std::string_view field, std::string_view value);
  ChartRow& Number(std::string_view field, double value);
  ChartRow& Boolean(std::string_view field, bool value);

  // Returns the row as a JSON object, with the fields in their order.
  nlohmann::ordered_json ToJson() const;

 private:
  using Value = std::variant<std::string, double, bool>;

  ChartRow& Add(std::string_view field, Value value);

  std::vector<std::pair<std::string, Value>> fields_;
};

// The name of a chart and its data.
class Chart {
 public:
  using DataSets = std::map<std::string, std::deque<ChartRow>, std::less<>>;

  explicit Chart(std::string name) : name_(std::move(name)) {}

  // Adds a row to a data set of the chart. The reference stays valid while the
  // chart exists.
  ChartRow& Add(std::string_view data_set);

  const std::string& name() const { return name_; }
  const DataSets& data() const { return data_; }

 private:
  std::string name_;
  DataSets data_;
};

// Returns the names of all charts.
std::vector<std::string> ChartNames();

// Returns the specification of the chart with the data in it. Returns
// kInvalidArgument if there is no such chart, or if it has no such data set.
absl::StatusOr<std::string> FillChart(const Chart& chart);

// Returns the data sets of `chart` in one object.
nlohmann::ordered_json ChartData(const Chart& chart);

}  // namespace waiter::charts

#endif  // WAITER_CLI_CHARTS_CHART_H_
