// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Implementation of testing/benchmark.h. Programs include that instead.

#ifndef WAITER_TESTING_INTERNAL_BENCHMARK_PARTS_H_
#define WAITER_TESTING_INTERNAL_BENCHMARK_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/internal/exceptions.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/testing/internal/benchmark_meter.h"
#include "waiter/testing/internal/benchmark_subject.h"
#include "waiter/waiter.h"

namespace waiter::internal::poll_benchmark {

// The class has another name in newer versions.
using Row = std::remove_pointer_t<decltype(benchmark::RegisterBenchmark(
    "", std::declval<void (*)(benchmark::State&)>()))>;

using RunRow = std::function<void(benchmark::State&)>;

// Registers a row, which Google Benchmark then owns.
#ifdef __clang_analyzer__
// The analyzer takes that for a leak.
Row* Register(const std::string& name, RunRow run);
#else
inline Row* Register(const std::string& name, RunRow run) {
  return benchmark::RegisterBenchmark(name.c_str(), std::move(run))
      ->UseRealTime();
}
#endif

#define WAITER_BENCHMARK_NAME_(line) WAITER_BENCHMARK_NAME_OF_(line)
#define WAITER_BENCHMARK_NAME_OF_(line) waiter_benchmark_rows_##line

// Returns options of waits that poll each `delay`, forever.
inline WaitOptions OptionsFor(absl::Duration delay, Clock& clock) {
  // Spread by half of the delay, so that waits do not fall into step.
  const BackoffOptions backoff = {.initial_delay = delay,
                                  .max_delay = 2 * delay,
                                  .multiplier = 1,
                                  .jitter = Jitter::Proportional(0.5),
                                  .min_delay = absl::ZeroDuration()};
  return {.name = "benchmark",
          .timeout = absl::Hours(1000),
          .backoff = backoff,
          .errors = {.retry_after = {.max_retry_after = absl::Nanoseconds(1)}},
          .clock = &clock};
}

// Threads of a row would share a status function.
inline bool RequireOneThread(benchmark::State& state) {
  const bool is_one = state.threads() == 1;
  if (!is_one) state.SkipWithError("rows of a status function take one thread");
  return is_one;
}

inline bool RequireDelay(benchmark::State& state, absl::Duration delay) {
  const bool is_valid =
      delay > absl::ZeroDuration() && delay < absl::InfiniteDuration();
  if (!is_valid) state.SkipWithError("the delay must be finite and above zero");
  return is_valid;
}

template <typename F>
void RunAlone(benchmark::State& state, Subject<F>& subject, Clock& clock) {
  if (!RequireOneThread(state)) return;
  subject.Check(state, clock);
  if (subject.failed()) return;
  Meter meter(state);
  WAITER_TRY {
    Subject<F>::WithContext([&](const auto&... context) {
      for (auto _ : state) {
        auto answer = subject.Call(context...);
        benchmark::DoNotOptimize(answer);
      }
    });
  }
  WAITER_CATCH(...) { subject.FailWithException(); }
  if (subject.HasFailed(state)) return;
  meter.Report(state.iterations(), subject.found());
}

template <typename F>
void RunWait(benchmark::State& state, Subject<F>& subject, absl::Duration delay,
             Clock& clock) {
  constexpr int kPollsPerWait = 10;
  if (!RequireOneThread(state)) return;
  if (delay != absl::ZeroDuration() && !RequireDelay(state, delay)) return;
  subject.Check(state, clock);
  if (subject.failed()) return;
  const int64_t first = subject.polls();
  int left = 0;
  Waiter wait(subject.StatusFunctionUntil([&left] { return --left == 0; }),
              OptionsFor(delay, clock));
  Meter meter(state);
  while (state.KeepRunningBatch(kPollsPerWait)) {
    left = kPollsPerWait;
    WaitResult<> result = wait.Wait();
    benchmark::DoNotOptimize(result);
    if (subject.HasFailed(state)) return;
  }
  meter.Report(subject.polls() - first, subject.found());
}

// Holds waits on an engine that it turns itself, so that no other thread is
// measured.
template <typename F>
class EngineRun {
 public:
  EngineRun(Subject<F>& subject, int64_t waits, absl::Duration delay,
            Clock& clock)
      : subject_(subject),
        clock_(clock),
        engine_({.threads = 0, .clock = &clock}) {
    // Starts spread over the first delay.
    const int64_t phases = std::min<int64_t>(waits, 100);
    std::vector<std::shared_ptr<const WaitPolicy>> policies;
    for (int64_t i = 1; i <= phases; ++i) {
      WaitOptions options = OptionsFor(delay, clock);
      options.polls.first_delay = delay * i / phases;
      policies.push_back(WaitPolicy::Make(std::move(options)));
    }
    handles_.reserve(static_cast<size_t>(waits));
    const auto never = [] { return false; };
    for (int64_t i = 0; i < waits; ++i) {
      handles_.push_back(
          engine_.Start(Waiter(subject.StatusFunctionUntil(never),
                               policies[static_cast<size_t>(i % phases)]),
                        [](const WaitResult<>&) {}));
    }
  }

  // Runs for `time`, then counts polls from zero.
  void WarmUp(absl::Duration time) {
    const MonotonicTime end =
        SaturatingAdd(clock_.MonotonicNow(), absl::ToChronoNanoseconds(time));
    RunUntil([&] { return clock_.MonotonicNow() >= end; });
    target_ = subject_.polls();
  }

  // Runs until `polls` more polls were made, or one has failed. The last round
  // may make a few more, which the next call takes into account.
  void Run(int64_t polls) {
    target_ += polls;
    RunUntil([&] { return subject_.polls() >= target_; });
  }

 private:
  template <typename IsDone>
  void RunUntil(IsDone is_done) {
    while (!subject_.failed() && !is_done()) {
      const MonotonicTime next = engine_.RunDue();
      if (subject_.failed() || is_done()) return;
      if (&clock_ == &GetRealClock()) {
        // Allocates nothing, as the sleep of an engine with a thread.
        std::this_thread::sleep_until(next);
      } else {
        clock_.SleepUntil(next, {}, "benchmark");
      }
    }
  }

  Subject<F>& subject_;
  Clock& clock_;
  int64_t target_ = 0;
  WaitEngine engine_;
  std::vector<WaitHandle> handles_;
};

template <typename F>
void RunEngine(benchmark::State& state, Subject<F>& subject, int64_t waits,
               absl::Duration delay, Clock& clock) {
  if (!RequireOneThread(state) || !RequireDelay(state, delay)) return;
  if (waits < 1) {
    state.SkipWithError("the number of waits must be at least 1");
    return;
  }
  const absl::Duration took = subject.Check(state, clock);
  if (subject.failed()) return;
  if (took * waits > delay) {
    state.SkipWithError(absl::StrCat("a poll takes ",
                                     absl::FormatDuration(took), ", so ", waits,
                                     " of them take longer than the delay")
                            .c_str());
    return;
  }
  EngineRun run(subject, waits, delay, clock);
  run.WarmUp(1.5 * delay);  // Every wait then has polled.
  // As many as are due in 50 ms, so that the loop costs little.
  const int64_t batch =
      std::max<int64_t>(waits * absl::Milliseconds(50) / delay, 1);
  const int64_t first = subject.polls();
  Meter meter(state);
  while (state.KeepRunningBatch(batch)) {
    run.Run(batch);
    if (subject.HasFailed(state)) return;
  }
  meter.Report(subject.polls() - first, subject.found());
}

}  // namespace waiter::internal::poll_benchmark

#endif  // WAITER_TESTING_INTERNAL_BENCHMARK_PARTS_H_
