// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the cost of polling: rows for Google Benchmark, by one line for each
// status function.
//
//   #include "benchmark/benchmark.h"
//   #include "waiter/testing/benchmark.h"
//
//   waiter::Poll<> GetStatus() { ... }
//   WAITER_BENCHMARK(GetStatus);
//
//   WAITER_COUNT_ALLOCATIONS();  // Optional; once in a program.
//   BENCHMARK_MAIN();
//
// prints, among others, the rows
//
//   GetStatus/alone                         the function, called in a loop
//   GetStatus/wait                          in `Waiter::Wait`, without delays
//   GetStatus/wait/delay:1ms                the same, with a sleep per poll
//   GetStatus/engine/waits:1/delay:10ms     on a `WaitEngine` with one wait
//   GetStatus/engine/waits:1000/delay:100ms
//   GetStatus/engine/waits:100000/delay:1s
//
// An iteration is a poll in all of them, so all figures are per poll: the times
// of Google Benchmark, and the counters
//
//   cpu_ns   processor time of the process, all of its threads, in nanoseconds
//   wakeups  how often a thread slept and woke up (voluntary context switches)
//   allocs   calls of `operator new`; only with WAITER_COUNT_ALLOCATIONS
//   polls    polls per second of real time
//
// The label of a row is the last poll's answer. docs/measuring.md reads such a
// table.
//
// Google Benchmark is not a dependency of Waiter: a program that includes this
// header brings it. Tried with version 1.7.

#ifndef WAITER_TESTING_BENCHMARK_H_
#define WAITER_TESTING_BENCHMARK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/testing/internal/benchmark_parts.h"

namespace waiter {

// Waits that an engine holds at the same time.
struct EngineLoad {
  int64_t waits;   // At least 1.
  Duration delay;  // Between two polls of one wait. Above zero.
};

struct PollBenchmarkOptions {
  // Delay of the row `wait/delay`. Above zero.
  Duration wait_delay = absl::Milliseconds(1);

  // One row each. `waits / delay` is the number of polls per second. If the
  // function takes too long for that, the row says so instead of measuring.
  std::vector<EngineLoad> engine_loads = {
      {1, absl::Milliseconds(10)},
      {1000, absl::Milliseconds(100)},
      {100'000, absl::Seconds(1)},
  };

  // Clock of all waits, for tests. Not owned; must outlive the rows. Null: the
  // real clock.
  Clock* clock = nullptr;
};

// A row as Google Benchmark registers it: `row->MinTime(2)->Repetitions(10)`.
using BenchmarkRow = internal::poll_benchmark::Row;

// Registers the rows of `function`, whose names begin with `name`, and returns
// them. To be called before `benchmark::RunSpecifiedBenchmarks`.
//
//   waiter::BenchmarkPolls("GetStatus", [&] { return client.GetStatus(id); });
//
// A row calls `function` three times before it measures, then again and again,
// always on one thread and one call at a time; all rows, and all waits of a
// row, share one copy. Polling continues after any answer, and ignores
// `retry_after`. Only a failure (`kFailed`) or an exception ends a row, with an
// error instead of its figures.
template <StatusFunction F>
std::vector<BenchmarkRow*> BenchmarkPolls(
    const std::string& name, F function,
    const PollBenchmarkOptions& options = {}) {
  namespace parts = internal::poll_benchmark;
  const auto subject = std::make_shared<parts::Subject<F>>(std::move(function));
  Clock& clock = options.clock != nullptr ? *options.clock : GetRealClock();
  std::vector<BenchmarkRow*> rows;
  const auto add = [&](const std::string& row, parts::RunRow run) {
    rows.push_back(parts::Register(name + row, std::move(run)));
  };
  add("/alone", [subject, &clock](benchmark::State& state) {
    parts::RunAlone(state, *subject, clock);
  });
  const auto add_wait = [&](const std::string& row, absl::Duration delay) {
    add(row, [subject, &clock, delay](benchmark::State& state) {
      parts::RunWait(state, *subject, delay, clock);
    });
  };
  add_wait("/wait", absl::ZeroDuration());
  add_wait(
      absl::StrCat("/wait/delay:", absl::FormatDuration(options.wait_delay)),
      options.wait_delay);
  for (const EngineLoad& load : options.engine_loads) {
    add(absl::StrCat("/engine/waits:", load.waits,
                     "/delay:", absl::FormatDuration(load.delay)),
        [subject, &clock, load](benchmark::State& state) {
          parts::RunEngine(state, *subject, load.waits, load.delay, clock);
        });
  }
  return rows;
}

}  // namespace waiter

// Registers the rows of a status function under its own name, at namespace
// scope: `WAITER_BENCHMARK(GetStatus)`, or with `PollBenchmarkOptions` after
// it.
#define WAITER_BENCHMARK(function, ...)                                 \
  [[maybe_unused]] static const auto WAITER_BENCHMARK_NAME_(__LINE__) = \
      ::waiter::BenchmarkPolls(#function, function __VA_OPT__(, ) __VA_ARGS__)

// Defines the global `operator new` and `operator delete`, so that allocations
// are counted. To be used once, at global namespace scope, in one file of a
// program that does not define them already. Without it the counter is absent,
// and nothing is replaced.
//
// Memory that C functions take with malloc is not counted. For that, give
// Google Benchmark a `MemoryManager`, which it uses for all rows.
#define WAITER_COUNT_ALLOCATIONS() WAITER_COUNT_ALLOCATIONS_()

#endif  // WAITER_TESTING_BENCHMARK_H_
