// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the cost of an assertion that polls. The targets are at most 2 us
// more than EXPECT_THAT if the condition already holds, and at most 1 ms for
// hours of simulated time.

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::Ge;

struct Job {
  std::string state = "DONE";
  int progress = 100;
};

auto IsDone() {
  return AllOf(Field(&Job::state, "DONE"), Field(&Job::progress, Ge(100)));
}

// The floors.

void BM_ExpectThat_Int(benchmark::State& state) {
  int value = 7;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    EXPECT_THAT(value, 7);
  }
}
BENCHMARK(BM_ExpectThat_Int);

void BM_ExpectThat_Job(benchmark::State& state) {
  const Job job;
  for (auto _ : state) EXPECT_THAT(job, IsDone());
}
BENCHMARK(BM_ExpectThat_Job);

void BM_ExpectEventually_Int(benchmark::State& state) {
  int value = 7;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    EXPECT_EVENTUALLY(value, 7);
  }
}
BENCHMARK(BM_ExpectEventually_Int);

void BM_ExpectEventually_Job(benchmark::State& state) {
  const Job job;
  for (auto _ : state) EXPECT_EVENTUALLY(job, IsDone());
}
BENCHMARK(BM_ExpectEventually_Job);

void BM_ExpectEventuallyPasses_Int(benchmark::State& state) {
  int value = 7;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    EXPECT_EVENTUALLY_PASSES({ EXPECT_THAT(value, 7); });
  }
}
BENCHMARK(BM_ExpectEventuallyPasses_Int);

// Polls a job that is done after five hours, with delays of 1 s, 2 s, 4 s and
// so on up to 5 min.
void BM_ExpectEventually_FiveHours(benchmark::State& state) {
  int64_t polls = 0;
  for (auto _ : state) {
    SimulatedClock clock;
    const EventuallyOptions options = {
        .timeout = absl::Hours(6),
        .backoff = {.initial_delay = absl::Seconds(1),
                    .max_delay = absl::Minutes(5),
                    .jitter = Jitter::None()},
        .clock = &clock};
    EXPECT_EVENTUALLY((++polls, clock.Elapsed()), Ge(absl::Hours(5)), options);
  }
  state.counters["polls"] = benchmark::Counter(
      static_cast<double>(polls), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_ExpectEventually_FiveHours)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace waiter
