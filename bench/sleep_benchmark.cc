// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the sleep of a wait, and a stop that ends it, with waiting on a
// condition variable. `Time` is the mean. The counters, in microseconds, show
// both sides.

#include <chrono>
#include <vector>

#include "bench/sleeps.h"
#include "benchmark/benchmark.h"

namespace waiter {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

// Alternates the two sides of `subject`, and times the first.
template <typename Subject>
void Compare(benchmark::State& state, Subject& subject) {
  std::vector<Microseconds> waiter;
  std::vector<Microseconds> condition_variable;
  for (auto _ : state) {
    waiter.push_back(subject.OfWaiter());
    condition_variable.push_back(subject.OfConditionVariable());
    state.SetIterationTime(
        std::chrono::duration<double>(waiter.back()).count());
  }
  using bench::Quantile;
  state.counters["p50"] = Quantile(waiter, 0.5).count();
  state.counters["p99"] = Quantile(waiter, 0.99).count();
  state.counters["cv_p50"] = Quantile(condition_variable, 0.5).count();
  state.counters["cv_p99"] = Quantile(condition_variable, 0.99).count();
}

void BM_Waiter_Lateness(benchmark::State& state) {
  bench::Lateness lateness{std::chrono::milliseconds(state.range(0))};
  Compare(state, lateness);
}
BENCHMARK(BM_Waiter_Lateness)
    ->ArgName("sleep_ms")
    ->Arg(1)
    ->Iterations(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Waiter_Lateness)
    ->ArgName("sleep_ms")
    ->Arg(10)
    ->Iterations(200)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void BM_Waiter_StopLatency(benchmark::State& state) {
  bench::StopLatency latency;
  Compare(state, latency);
}
BENCHMARK(BM_Waiter_StopLatency)
    ->Iterations(2000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace waiter
