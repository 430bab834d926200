// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/benchmark_report.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "bench/benchmark_file.h"
#include "cli/charts/chart.h"
#include "cli/text/printable.h"

namespace waiter::bench {

std::string BenchmarkTable(absl::Span<const MeasuredBenchmark> benchmarks) {
  int width = 10;
  for (const MeasuredBenchmark& benchmark : benchmarks) {
    width = std::max(width,
                     static_cast<int>(cli::Printable(benchmark.name).size()));
  }
  std::string table =
      absl::StrFormat("%-*s  %10s  %10s  %10s  %s\n", width, "benchmark",
                      "ns, median", "from", "to", "runs");
  for (const MeasuredBenchmark& benchmark : benchmarks) {
    absl::StrAppendFormat(
        &table, "%-*s  %10.1f  %10.1f  %10.1f  %4s\n", width,
        cli::Printable(benchmark.name), benchmark.median, benchmark.low,
        benchmark.high,
        benchmark.repetitions > 0 ? absl::StrCat(benchmark.repetitions) : "?");
  }
  return absl::StrCat(
      table, "\nper poll (item), or per iteration where none are counted\n");
}

charts::Chart BenchmarkChart(absl::Span<const MeasuredBenchmark> benchmarks) {
  charts::Chart chart("benchmark");
  for (const MeasuredBenchmark& benchmark : benchmarks) {
    const std::string_view name = benchmark.name;
    chart.Add("benchmarks",
              {{"benchmark", name},
               {"component", name.substr(0, name.find_first_of("/_"))},
               {"median", benchmark.median},
               {"low", benchmark.low},
               {"high", benchmark.high},
               {"runs", benchmark.repetitions}});
  }
  return chart;
}

}  // namespace waiter::bench
