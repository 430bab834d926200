// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the cost of a wait in addition to its polls and sleeps. It should be
// little more than a loop written by hand, without allocations and unnecessary
// readings of the clock.

#include "waiter/waiter.h"

#include <chrono>
#include <cstdint>
#include <ctime>

#include "absl/time/time.h"
#include "bench/allocations.h"
#include "bench/floors.h"
#include "benchmark/benchmark.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {
namespace {

using bench::Countdown;

constexpr absl::Duration kNoDeadline = absl::InfiniteDuration();
constexpr absl::Duration kDeadline = absl::Minutes(5);

// Delays are zero, so the benchmark measures the wait and not the sleep.
WaitOptions Options(absl::Duration timeout) {
  constexpr BackoffOptions kNoDelay = {.initial_delay = absl::ZeroDuration(),
                                       .max_delay = absl::ZeroDuration(),
                                       .jitter = Jitter::Full()};
  return {.timeout = timeout,
          .backoff = kNoDelay,
          .errors = {.server_error_backoff = kNoDelay}};
}

// A function as a type, so the call is direct, as in code written by hand.
template <auto kFunction>
struct Ask {
  auto operator()(Countdown& target) const { return kFunction(target); }
};

template <typename AskTarget>
void BM_Waiter_Wait(benchmark::State& state, AskTarget ask,
                    absl::Duration timeout) {
  Countdown target;
  Waiter wait([&target, ask] { return ask(target); }, Options(timeout));
  const int64_t allocations = bench::Allocations();
  for (auto _ : state) {
    target.polls = state.range(0);
    auto result = wait.Wait();
    if (!result.ok()) state.SkipWithError("the wait failed");
    benchmark::DoNotOptimize(&result);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["allocations"] = benchmark::Counter(
      static_cast<double>(bench::Allocations() - allocations),
      benchmark::Counter::kAvgIterations);
}

// The wait ends with the success of its last poll.
void Polls(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("polls")->Arg(1)->Arg(10);
}

BENCHMARK_CAPTURE(BM_Waiter_Wait, status, Ask<bench::AskStatus>{}, kNoDeadline)
    ->Apply(Polls);
BENCHMARK_CAPTURE(BM_Waiter_Wait, status_deadline, Ask<bench::AskStatus>{},
                  kDeadline)
    ->Apply(Polls);
BENCHMARK_CAPTURE(BM_Waiter_Wait, bool, Ask<bench::AskBool>{}, kNoDeadline)
    ->Apply(Polls);
BENCHMARK_CAPTURE(BM_Waiter_Wait, poll_int, Ask<bench::AskPoll>{}, kNoDeadline)
    ->Apply(Polls);
BENCHMARK_CAPTURE(BM_Waiter_Wait, absl_status, Ask<bench::AskAbslStatus>{},
                  kNoDeadline)
    ->Apply(Polls);
BENCHMARK_CAPTURE(BM_Waiter_Wait, status_or_int, Ask<bench::AskStatusOr>{},
                  kNoDeadline)
    ->Apply(Polls);

// The floors.

template <typename DelayBefore>
void WaitByHand(benchmark::State& state, const DelayBefore& delay_before) {
  Countdown target;
  for (auto _ : state) {
    target.polls = state.range(0);
    benchmark::DoNotOptimize(
        bench::PollByHand(target, bench::GetNoSleeper(), delay_before));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_ByHand_PowerDelay(benchmark::State& state) {
  WaitByHand(state, bench::PowerDelay);
}
BENCHMARK(BM_ByHand_PowerDelay)->Apply(Polls);

void BM_ByHand_ShiftedDelay(benchmark::State& state) {
  WaitByHand(state, bench::ShiftedDelay);
}
BENCHMARK(BM_ByHand_ShiftedDelay)->Apply(Polls);

void BM_ByHand_ShiftedDelayAndClock(benchmark::State& state) {
  WaitByHand(state, bench::ShiftedDelayAndClock);
}
BENCHMARK(BM_ByHand_ShiftedDelayAndClock)->Apply(Polls);

void BM_Clock_Steady(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::chrono::steady_clock::now());
  }
}
BENCHMARK(BM_Clock_Steady);

void BM_Clock_Coarse(benchmark::State& state) {
  for (auto _ : state) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    benchmark::DoNotOptimize(now);
  }
}
BENCHMARK(BM_Clock_Coarse);

// Measures the cost of ten hours of simulated polling in a test.
void BM_Waiter_SimulatedTenHours(benchmark::State& state) {
  int64_t polls = 0;
  for (auto _ : state) {
    SimulatedClock clock;
    Waiter wait(
        [&] { return clock.Elapsed() >= absl::Hours(10); },
        {.timeout = absl::Hours(11),
         .backoff = {.max_delay = absl::Seconds(10), .jitter = Jitter::Full()},
         .clock = &clock});
    polls += wait.Wait().report().attempts;
  }
  state.SetItemsProcessed(polls);
}
BENCHMARK(BM_Waiter_SimulatedTenHours)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace waiter
