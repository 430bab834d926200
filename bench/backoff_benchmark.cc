// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the choice of one delay. The cost should be small compared with any
// poll, independent of the attempt number, and no larger for the first delay of
// a wait.

#include "waiter/backoff.h"

#include <cstdint>

#include "absl/random/bit_gen_ref.h"
#include "absl/random/random.h"
#include "absl/time/time.h"
#include "bench/floors.h"
#include "benchmark/benchmark.h"

namespace waiter {
namespace {

constexpr BackoffOptions kFullJitter = {.max_delay = absl::Seconds(10),
                                        .jitter = Jitter::Full()};

// Each wait has ten delays.
constexpr int kDelays = 10;

template <typename Gen>
void DrawDelays(benchmark::State& state, const Jitter& jitter, Gen& gen) {
  const Backoff backoff({.max_delay = absl::Seconds(10), .jitter = jitter});
  BackoffProgress progress;
  int left = kDelays;
  for (auto _ : state) {
    if (left-- == 0) {
      progress = {};
      left = kDelays - 1;
    }
    benchmark::DoNotOptimize(backoff.NextDelay(progress, gen));
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_Backoff_NextDelay(benchmark::State& state, Jitter jitter) {
  SplitMix64 gen(1);
  DrawDelays(state, jitter, gen);
  state.counters["state_bytes"] = sizeof(BackoffProgress) + sizeof(SplitMix64);
}
BENCHMARK_CAPTURE(BM_Backoff_NextDelay, full, Jitter::Full());
BENCHMARK_CAPTURE(BM_Backoff_NextDelay, none, Jitter::None());
BENCHMARK_CAPTURE(BM_Backoff_NextDelay, equal, Jitter::Equal());
BENCHMARK_CAPTURE(BM_Backoff_NextDelay, proportional,
                  Jitter::Proportional(0.2));
BENCHMARK_CAPTURE(BM_Backoff_NextDelay, decorrelated, Jitter::Decorrelated());

// The wait loop makes such calls, because it does not know the type of the
// generator.
void BM_Backoff_NextDelayByRef(benchmark::State& state) {
  SplitMix64 split_mix(1);
  absl::BitGenRef gen(split_mix);
  DrawDelays(state, Jitter::Full(), gen);
}
BENCHMARK(BM_Backoff_NextDelayByRef);

// The backoff never restarts, and is far beyond the precomputed delays.
void BM_Backoff_NextDelayFarOut(benchmark::State& state) {
  const Backoff backoff(kFullJitter);
  SplitMix64 gen(1);
  BackoffProgress progress;
  for (int i = 0; i < 1000; ++i) backoff.NextDelay(progress, gen);
  for (auto _ : state) {
    benchmark::DoNotOptimize(backoff.NextDelay(progress, gen));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Backoff_NextDelayFarOut);

void BM_Backoff_FirstDelay(benchmark::State& state) {
  const Backoff backoff(kFullJitter);
  for (auto _ : state) {
    SplitMix64 gen = MakeSeededSplitMix64();
    BackoffProgress progress;
    benchmark::DoNotOptimize(backoff.NextDelay(progress, gen));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Backoff_FirstDelay);

// One draw is the floor of all rows.
void BM_SplitMix64_Draw(benchmark::State& state) {
  SplitMix64 gen(1);
  for (auto _ : state) benchmark::DoNotOptimize(gen());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SplitMix64_Draw);

void BM_GrpcBackOff_NextDelay(benchmark::State& state) {
  bench::GrpcBackOff backoff;
  int left = kDelays;
  for (auto _ : state) {
    if (left-- == 0) {
      backoff.Reset();
      left = kDelays - 1;
    }
    benchmark::DoNotOptimize(backoff.NextDelay());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["state_bytes"] = sizeof(bench::GrpcBackOff);
}
BENCHMARK(BM_GrpcBackOff_NextDelay);

void BM_GrpcBackOff_FirstDelay(benchmark::State& state) {
  for (auto _ : state) {
    bench::GrpcBackOff backoff;
    benchmark::DoNotOptimize(backoff.NextDelay());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GrpcBackOff_FirstDelay);

// The delays have no jitter.
void BM_Aws_PowerDelay(benchmark::State& state) {
  int retries = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(retries);
    benchmark::DoNotOptimize(bench::PowerDelay(retries));
    retries = retries < kDelays ? retries + 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Aws_PowerDelay);

}  // namespace
}  // namespace waiter
