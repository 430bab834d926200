// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Charts of this folder, filled with data. A chart is a Vega-Lite
// specification, `NAME.vl.json`, whose data sets are empty:
//
//   waiter::charts::Chart chart("fleet");
//   chart.Add("seconds",
//             {{"jitter", "full"}, {"second", 0}, {"polls", 500}});
//   absl::StatusOr<std::string> spec = waiter::charts::FillChart(chart);
//
// Any editor for Vega opens the result.

#ifndef WAITER_CLI_CHARTS_CHART_H_
#define WAITER_CLI_CHARTS_CHART_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace waiter::charts {

// The name of a chart and its data.
class Chart {
 public:
  // Arrays of rows by name.
  using DataSets = std::map<std::string, nlohmann::ordered_json, std::less<>>;

  explicit Chart(std::string name) : name_(std::move(name)) {}

  // Adds a row, which is a JSON object, to a data set of the chart. A number
  // that is not finite becomes null, which charts leave out.
  void Add(std::string_view data_set, nlohmann::ordered_json row);

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
