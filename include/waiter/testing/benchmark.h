// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures what polling costs, with Google Benchmark. One line for each status
// function adds its rows:
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
// The output includes these rows:
//
//   GetStatus/alone                         the function, called in a loop
//   GetStatus/wait                          in `Waiter::Wait`, without delays
//   GetStatus/wait/delay:1ms                the same, with a sleep per poll
//   GetStatus/engine/waits:1/delay:10ms     on a `WaitEngine` with one wait
//   GetStatus/engine/waits:1000/delay:100ms
//   GetStatus/engine/waits:100000/delay:1s
//
// In every row, one iteration is one poll. So the times of Google Benchmark are
// per poll, and so are these counters, except for `polls`:
//
//   cpu_ns   processor time of all threads of the process, in nanoseconds
//   wakeups  how often a thread slept and woke up (voluntary context switches)
//   allocs   calls of `operator new`; only with WAITER_COUNT_ALLOCATIONS
//   polls    polls per second of real time
//
// The label of a row is the last poll's answer. docs/measuring.md explains such
// a table.
//
// Waiter does not depend on Google Benchmark; programs that include this header
// do. Tested with version 1.7.

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

// A row with an engine: how many waits it runs at the same time, and how often
// each polls.
struct EngineLoad {
  int64_t waits;   // At least 1.
  Duration delay;  // Between the polls of one wait. Above zero.
};

struct PollBenchmarkOptions {
  // Delay of the row `wait/delay`. Above zero.
  Duration wait_delay = absl::Milliseconds(1);

  // One row for each element, which polls `waits / delay` times per second. If
  // the function is too slow for that, the row says so instead of measuring.
  std::vector<EngineLoad> engine_loads = {
      {1, absl::Milliseconds(10)},
      {1000, absl::Milliseconds(100)},
      {100'000, absl::Seconds(1)},
  };

  // Clock of all waits, for tests. Not owned; must outlive the rows. Null: the
  // real clock.
  Clock* clock = nullptr;
};

// A row that is registered with Google Benchmark. Change its settings as usual:
// `row->MinTime(2)->Repetitions(10)`.
using BenchmarkRow = internal::poll_benchmark::Row;

// Registers the rows of `function`, whose names begin with `name`, and returns
// them. Call it before `benchmark::RunSpecifiedBenchmarks`.
//
//   waiter::BenchmarkPolls("GetStatus", [&] { return client.GetStatus(id); });
//
// A row calls `function` three times before measuring, and repeatedly while
// measuring, on one thread, one call at a time. All rows, and all waits of a
// row, share one copy of `function`. Polling continues after any answer other
// than `kFailed`, even after a success, and ignores `retry_after`. After
// `kFailed` or an exception the row ends, with an error instead of figures.
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

// Registers the rows of a status function under the function's name. Use it at
// namespace scope: `WAITER_BENCHMARK(GetStatus)`. `PollBenchmarkOptions` may be
// a second argument.
#define WAITER_BENCHMARK(function, ...)                                 \
  [[maybe_unused]] static const auto WAITER_BENCHMARK_NAME_(__LINE__) = \
      ::waiter::BenchmarkPolls(#function, function __VA_OPT__(, ) __VA_ARGS__)

// Defines the global `operator new` and `operator delete`, so that allocations
// are counted. Use it once, at global namespace scope, in a program that does
// not define them already. Without it, rows have no counter `allocs`.
//
// Memory that C functions allocate with malloc is not counted. To count it,
// give Google Benchmark a `MemoryManager`, which it uses for all rows.
#define WAITER_COUNT_ALLOCATIONS() WAITER_COUNT_ALLOCATIONS_()

#endif  // WAITER_TESTING_BENCHMARK_H_
