// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/benchmark_file.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace waiter::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::vector<MeasuredBenchmark>> Parse(std::string_view rows) {
  return ParseBenchmarks(
      absl::StrCat(R"({"context": {"num_cpus": 2}, "benchmarks": [)", rows,
                   "]}"),
      "bench.json");
}

TEST(BenchmarkFileTest, RepetitionsGiveTheirMedianAndRange) {
  // Google Benchmark may interleave repetitions, and print aggregates early.
  const auto benchmarks = ValueOrFail(Parse(R"(
      {"name": "BM_B", "run_name": "BM_B", "family_index": 1,
       "per_family_instance_index": 0, "run_type": "iteration",
       "cpu_time": 5, "real_time": 9, "time_unit": "us"},
      {"name": "BM_A/10", "run_name": "BM_A/10", "family_index": 0,
       "per_family_instance_index": 1, "run_type": "iteration",
       "cpu_time": 3, "real_time": 9, "time_unit": "ns"},
      {"name": "BM_A/10", "run_name": "BM_A/10", "family_index": 0,
       "per_family_instance_index": 1, "run_type": "iteration",
       "cpu_time": 8, "real_time": 9, "time_unit": "ns"},
      {"name": "BM_A/10_mean", "run_name": "BM_A/10", "family_index": 0,
       "per_family_instance_index": 1, "run_type": "aggregate",
       "repetitions": 4, "aggregate_name": "mean",
       "cpu_time": 70, "real_time": 9, "time_unit": "ns"},
      {"name": "BM_A/10", "run_name": "BM_A/10", "family_index": 0,
       "per_family_instance_index": 1, "run_type": "iteration",
       "cpu_time": 4, "real_time": 9, "time_unit": "ns"},
      {"name": "BM_A/10", "run_name": "BM_A/10", "family_index": 0,
       "per_family_instance_index": 1, "run_type": "iteration",
       "cpu_time": 2, "real_time": 9, "time_unit": "ns"})"));

  EXPECT_THAT(benchmarks, ElementsAre(FieldsAre("A/10", 3.5, 2, 8, 4),
                                      FieldsAre("B", 5000, 5000, 5000, 1)));
}

TEST(BenchmarkFileTest, TimeIsPerItemIfItemsAreCounted) {
  const auto benchmarks = ValueOrFail(Parse(R"(
      {"name": "BM_Wait/polls:10", "cpu_time": 100, "time_unit": "ns",
       "items_per_second": 1e8},
      {"name": "BM_Wait/real_time", "cpu_time": 1, "real_time": 2,
       "time_unit": "ms"})"));

  EXPECT_THAT(benchmarks,
              ElementsAre(FieldsAre("Wait/polls:10", 10, 10, 10, 1),
                          FieldsAre("Wait/real_time", 2e6, 2e6, 2e6, 1)));
}

TEST(BenchmarkFileTest, AggregatesAloneGiveTheMedianAndADeviation) {
  const auto benchmarks = ValueOrFail(Parse(R"(
      {"name": "BM_A_mean", "run_name": "BM_A", "aggregate_name": "mean",
       "repetitions": 9, "cpu_time": 11, "time_unit": "ns"},
      {"name": "BM_A_median", "run_name": "BM_A", "aggregate_name": "median",
       "repetitions": 9, "cpu_time": 10, "time_unit": "ns"},
      {"name": "BM_A_cv", "run_name": "BM_A", "aggregate_name": "cv",
       "aggregate_unit": "percentage",
       "repetitions": 9, "cpu_time": 0.25, "time_unit": "ns",
       "items_per_second": 0.3},
      {"name": "BM_B_mean", "run_name": "BM_B", "aggregate_name": "mean",
       "repetitions": 9, "cpu_time": 7, "time_unit": "ns"},
      {"name": "BM_C_BigO", "run_name": "BM_C", "aggregate_name": "BigO",
       "cpu_coefficient": 2, "big_o": "N", "time_unit": "ns"})"));

  EXPECT_THAT(benchmarks, ElementsAre(FieldsAre("A", 10, 7.5, 12.5, 9),
                                      FieldsAre("B", 7, 7, 7, 9)));
}

TEST(BenchmarkFileTest, SkippedAndFailedBenchmarksAreLeftOut) {
  const auto benchmarks = ValueOrFail(Parse(R"(
      {"name": "BM_A", "error_occurred": true, "error_message": "no"},
      {"name": "BM_B", "skipped": "no, this is text", "cpu_time": 1},
      {"name": "BM_C", "skipped": true})"));

  EXPECT_THAT(benchmarks, ElementsAre(FieldsAre("B", 1, 1, 1, 1)));
}

TEST(BenchmarkFileTest, ErrorNamesTheFileAndTheBenchmark) {
  for (const auto& [rows, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "bench.json: no benchmark in it was measured"},
           {"{\"name\": 3}", "bench.json: benchmark 1: it has no name"},
           {"7", "bench.json: benchmark 1: it has no name"},
           {R"({"name": "BM_A"})", "bench.json: BM_A: cpu_time is not a time"},
           {R"({"name": "BM_A", "cpu_time": -1})",
            "BM_A: cpu_time is not a time"},
           {R"({"name": "BM_A/real_time", "cpu_time": 1})",
            "BM_A/real_time: real_time is not a time"},
           {R"({"name": "BM_A", "cpu_time": 1, "time_unit": "h"})",
            "BM_A: time_unit is 'h'; it must be ns, us, ms or s"},
           {"{", "bench.json: "},
       }) {
    const auto benchmarks = Parse(rows);
    EXPECT_TRUE(absl::IsInvalidArgument(benchmarks.status())) << rows;
    EXPECT_THAT(benchmarks.status().message(), HasSubstr(message));
  }
  EXPECT_THAT(
      ParseBenchmarks("[]", "x").status().message(),
      HasSubstr("x: no list of benchmarks in it; --benchmark_out=FILE"));
}

}  // namespace
}  // namespace waiter::bench
