// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures learned delays: at most 1 ms to make a schedule from 128 durations,
// and at most 20 ns to look up the delay after a poll.

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/clock.h"
#include "waiter/learned/duration_model.h"
#include "waiter/learned/internal/learned_operation.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/loop/next_step.h"
#include "waiter/loop/split_mix64.h"
#include "waiter/loop/wait_loop.h"
#include "waiter/options.h"
#include "waiter/poll_status.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_report.h"

namespace waiter {
namespace {

std::shared_ptr<DurationModel> MakeModel() {
  auto model = std::make_shared<DurationModel>();
  for (int i = 0; i < 128; ++i) {
    // From 10 s to 300 s.
    const double seconds = 55 * std::exp(1.7 * std::sin(i));
    model->Record("operation", {.after = absl::Seconds(0.95 * seconds),
                                .by = absl::Seconds(1.05 * seconds)});
  }
  return model;
}

std::shared_ptr<LearnedDelays> MakeLearned() {
  return LearnedDelays::Make(MakeModel()).value();
}

// Includes a copy of the distribution for people.
void BM_LearnedDelays_Schedule(benchmark::State& state) {
  const std::shared_ptr<LearnedDelays> learned = MakeLearned();
  for (auto _ : state) {
    benchmark::DoNotOptimize(learned->Schedule("operation"));
  }
}
BENCHMARK(BM_LearnedDelays_Schedule)->Unit(benchmark::kMicrosecond);

// Looks up the delays after the polls of waits that last long.
void BM_LearnedOperation_Find(benchmark::State& state) {
  using std::chrono::nanoseconds;
  internal::LearnedOperation operation(MakeModel(), {}, "operation",
                                       /*records=*/false);
  operation.Refresh(MonotonicTime(std::chrono::hours(1)));
  SplitMix64 gen(1);
  std::vector<nanoseconds> polls;
  for (nanoseconds elapsed(0); polls.size() < 1000;) {
    polls.push_back(elapsed);
    const float delay = operation.Find(elapsed, gen).delay;
    elapsed += nanoseconds(static_cast<int64_t>(delay * 1e9F));
    if (elapsed > std::chrono::minutes(5)) elapsed = elapsed.zero();
  }
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(operation.Find(polls[i], gen));
    i = i + 1 < polls.size() ? i + 1 : 0;
  }
}
BENCHMARK(BM_LearnedOperation_Find);

// Polls of waits that never end, with and without learned delays. The
// difference is the look-up, the place on the curve, and what a wait keeps to
// learn from.
void BM_WaitLoop_Polls(benchmark::State& state) {
  WaitOptions options = {.operation = "operation",
                         .timeout = absl::InfiniteDuration()};
  if (state.range(0) != 0) options.learned_delays = MakeLearned();
  const std::shared_ptr<const WaitPolicy> policy = WaitPolicy::Make(options);
  const auto never = [] { return false; };
  SplitMix64 gen(1);
  for (auto _ : state) {
    WaitReport report;
    WaitLoop loop(*policy, report);
    MonotonicTime now{std::chrono::hours(1)};
    NextStep step = loop.Start(now, policy->DeadlineFrom(now), never);
    for (int poll = 0; poll < 8; ++poll) {
      report.last_poll = PollStatus::kNotReady;
      step = loop.OnPoll(now, gen, never);
      now = step.wake_up();
      step = loop.OnWake(now, never);
    }
    benchmark::DoNotOptimize(step);
  }
  state.SetItemsProcessed(8 * state.iterations());
}
BENCHMARK(BM_WaitLoop_Polls)->ArgName("learned")->Arg(0)->Arg(1);

}  // namespace
}  // namespace waiter
