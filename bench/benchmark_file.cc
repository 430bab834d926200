// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/benchmark_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace waiter::bench {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

// The rows with one name.
struct Rows {
  std::string name;
  double order;  // Position of the definition.
  std::vector<double> repetitions;
  std::map<std::string, double, std::less<>> aggregates;
  int64_t count = 0;  // Number of repetitions, according to the rows.
};

std::optional<double> NanosecondsPer(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return kNanosecondsPerSecond;
  return std::nullopt;
}

// Returns the time of a row. Errors do not contain the name of the file.
absl::StatusOr<double> TimeOf(const nlohmann::json& row,
                              std::string_view name) {
  const bool real = absl::StrContains(name, "/real_time") ||
                    absl::StrContains(name, "/manual_time");
  const char* const field = real ? "real_time" : "cpu_time";
  const std::optional<double> time = cli::FindNumber(row, field);
  if (!time.has_value() || *time < 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is not a time"));
  }
  if (const std::string* const unit = cli::FindString(row, "aggregate_unit");
      unit != nullptr && *unit == "percentage") {
    return *time;
  }
  if (const std::optional<double> items =
          cli::FindNumber(row, "items_per_second");
      items.has_value() && *items > 0) {
    return kNanosecondsPerSecond / *items;
  }
  const std::string* const unit = cli::FindString(row, "time_unit");
  const std::optional<double> scale =
      NanosecondsPer(unit != nullptr ? *unit : "ns");
  if (!scale.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("time_unit is '", *unit, "'; it must be ns, us, ms or s"));
  }
  return *time * *scale;
}

Rows& FindOrAdd(std::vector<Rows>& all, std::string_view name, double order) {
  const auto known = std::find_if(
      all.begin(), all.end(), [&](const Rows& r) { return r.name == name; });
  if (known != all.end()) return *known;
  return all.emplace_back(Rows{.name = std::string(name),
                               .order = order,
                               .repetitions = {},
                               .aggregates = {}});
}

absl::Status AddRow(const nlohmann::json& row, size_t index,
                    std::vector<Rows>& all) {
  const auto fail = [&](std::string_view name, std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(name.empty() ? absl::StrCat("benchmark ", index + 1)
                                  : std::string(name),
                     ": ", why));
  };
  const std::string* name = cli::FindString(row, "run_name");
  if (name == nullptr) name = cli::FindString(row, "name");
  if (name == nullptr || name->empty()) return fail("", "it has no name");
  if (cli::IsTrue(row, "error_occurred") || cli::IsTrue(row, "skipped")) {
    return absl::OkStatus();
  }
  const std::string* const aggregate = cli::FindString(row, "aggregate_name");
  // BigO and RMS describe the growth of time with an argument.
  if (aggregate != nullptr && (*aggregate == "BigO" || *aggregate == "RMS")) {
    return absl::OkStatus();
  }
  const absl::StatusOr<double> time = TimeOf(row, *name);
  if (!time.ok()) return fail(*name, time.status().message());
  const std::optional<double> family = cli::FindNumber(row, "family_index");
  const std::optional<double> instance =
      cli::FindNumber(row, "per_family_instance_index");
  // A family of a million instances would take a day.
  constexpr double kMostInstances = 1e6;
  Rows& rows = FindOrAdd(all, *name,
                         family.has_value() && instance.has_value()
                             ? *family * kMostInstances + *instance
                             : 0);
  if (aggregate == nullptr) {
    rows.repetitions.push_back(*time);
    rows.count = static_cast<int64_t>(rows.repetitions.size());
    return absl::OkStatus();
  }
  rows.aggregates[*aggregate] = *time;
  if (const std::optional<double> count = cli::FindNumber(row, "repetitions");
      rows.repetitions.empty() && count.has_value() && *count >= 1 &&
      *count <= kMostInstances) {
    rows.count = static_cast<int64_t>(*count);
  }
  return absl::OkStatus();
}

std::optional<MeasuredBenchmark> Measured(Rows rows) {
  MeasuredBenchmark measured = {
      .name = std::string(absl::StripPrefix(rows.name, "BM_")),
      .median = 0,
      .low = 0,
      .high = 0,
      .repetitions = rows.count};
  if (!rows.repetitions.empty()) {
    std::vector<double>& times = rows.repetitions;
    std::sort(times.begin(), times.end());
    const size_t half = times.size() / 2;
    measured.median = times.size() % 2 == 1
                          ? times[half]
                          : (times[half - 1] + times[half]) / 2;
    measured.low = times.front();
    measured.high = times.back();
    return measured;
  }
  auto middle = rows.aggregates.find("median");
  if (middle == rows.aggregates.end()) middle = rows.aggregates.find("mean");
  if (middle == rows.aggregates.end()) return std::nullopt;
  // Only a ratio is the same for a time and for its inverse.
  const auto variation = rows.aggregates.find("cv");
  const double spread =
      variation == rows.aggregates.end() ? 0 : variation->second;
  measured.median = middle->second;
  measured.low = middle->second * std::max(0.0, 1 - spread);
  measured.high = middle->second * (1 + spread);
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredBenchmark>> ParseBenchmarks(
    std::string_view text, std::string_view file) {
  const auto fail = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", why));
  };
  const absl::StatusOr<nlohmann::json> json = cli::ParseJson(text);
  if (!json.ok()) return fail(json.status().message());
  const nlohmann::json* const list = cli::FindMember(*json, "benchmarks");
  if (list == nullptr || !list->is_array()) {
    return fail("no list of benchmarks in it; --benchmark_out=FILE writes one");
  }
  std::vector<Rows> all;
  for (size_t i = 0; i < list->size(); ++i) {
    const absl::Status added = AddRow((*list)[i], i, all);
    if (!added.ok()) return fail(added.message());
  }
  std::stable_sort(all.begin(), all.end(), [](const Rows& a, const Rows& b) {
    return a.order < b.order;
  });
  std::vector<MeasuredBenchmark> measured;
  for (Rows& rows : all) {
    std::optional<MeasuredBenchmark> one = Measured(std::move(rows));
    if (one.has_value()) measured.push_back(*std::move(one));
  }
  if (measured.empty()) return fail("no benchmark in it was measured");
  return measured;
}

}  // namespace waiter::bench
