// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the simulation table of "Exponential Backoff And Jitter": 19 sizes x
// 5 rules x 100 runs, 60 million messages. The article's Python program takes
// about a minute.

#include <vector>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"
#include "cli/sim/contention_table.h"

namespace waiter {
namespace {

void BM_SimulateContentionTable(benchmark::State& state) {
  const sim::ContentionTableOptions options = {
      .threads = static_cast<int>(state.range(0))};
  double messages = 0;
  for (auto _ : state) {
    messages = 0;
    const absl::StatusOr<std::vector<sim::ContentionRow>> rows =
        sim::SimulateContentionTable(options);
    for (const sim::ContentionRow& row : *rows) {
      messages += 4 * row.calls * options.runs;
    }
  }
  state.counters["messages"] = messages;
}
BENCHMARK(BM_SimulateContentionTable)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace waiter
