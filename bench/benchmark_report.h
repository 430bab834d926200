// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Shows the cost of a poll, as a table and as a chart.

#ifndef WAITER_BENCH_BENCHMARK_REPORT_H_
#define WAITER_BENCH_BENCHMARK_REPORT_H_

#include <string>

#include "absl/types/span.h"
#include "bench/benchmark_file.h"
#include "cli/charts/chart.h"

namespace waiter::bench {

// Returns a table with a line for each benchmark.
std::string BenchmarkTable(absl::Span<const MeasuredBenchmark> benchmarks);

// Returns cli/charts/benchmark.vl.json with a bar for each benchmark.
charts::Chart BenchmarkChart(absl::Span<const MeasuredBenchmark> benchmarks);

}  // namespace waiter::bench

#endif  // WAITER_BENCH_BENCHMARK_REPORT_H_
