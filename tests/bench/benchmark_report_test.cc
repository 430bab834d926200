// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/benchmark_report.h"

#include <string>
#include <vector>

#include "bench/benchmark_file.h"
#include "cli/charts/chart.h"
#include "cli/text/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace waiter::bench {
namespace {

using ::testing::HasSubstr;

std::vector<MeasuredBenchmark> Benchmarks() {
  return {{.name = "Wait/bool",
           .median = 20,
           .low = 10,
           .high = 30,
           .repetitions = 3},
          {.name = "Bad\x1b",
           .median = 1250,
           .low = 1250,
           .high = 1250,
           .repetitions = 1}};
}

TEST(BenchmarkReportTest, TableHasALineForEachBenchmarkWithItsRange) {
  EXPECT_THAT(
      BenchmarkTable(Benchmarks()),
      HasSubstr("benchmark   ns, median        from          to  runs\n"
                "Wait/bool         20.0        10.0        30.0     3\n"
                "Bad\\x1b         1250.0      1250.0      1250.0     1\n"));
}

TEST(BenchmarkReportTest, ChartHasABarForEachBenchmarkWithItsRange) {
  const std::string data =
      cli::JsonText(charts::ChartData(BenchmarkChart(Benchmarks())));

  EXPECT_THAT(data, HasSubstr(R"("component":"Wait")"));
  EXPECT_THAT(data, HasSubstr(R"("median":20)"));
  EXPECT_THAT(data, HasSubstr(R"("high":30)"));
  EXPECT_THAT(data, HasSubstr(R"("median":1250)"));
}

}  // namespace
}  // namespace waiter::bench
