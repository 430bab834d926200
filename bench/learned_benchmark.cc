// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures learned delays. The targets are at most 1 ms to make a schedule from
// 128 durations, and at most 20 ns more per poll than the backoff takes.

#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

std::shared_ptr<LearnedDelays> MakeLearned() {
  auto model = std::make_shared<DurationModel>();
  for (int i = 0; i < 128; ++i) {
    // From 10 s to 300 s.
    const double seconds = 55 * std::exp(1.7 * std::sin(i));
    model->Record("operation", {.after = absl::Seconds(0.95 * seconds),
                                .by = absl::Seconds(1.05 * seconds)});
  }
  return LearnedDelays::Make(std::move(model)).value();
}

// The time includes a copy of the distribution for people.
void BM_LearnedDelays_Schedule(benchmark::State& state) {
  const std::shared_ptr<LearnedDelays> learned = MakeLearned();
  for (auto _ : state) {
    benchmark::DoNotOptimize(learned->Schedule("operation"));
  }
}
BENCHMARK(BM_LearnedDelays_Schedule)->Unit(benchmark::kMicrosecond);

// Measures polls of waits that never end, with and without learned delays. The
// difference is the look-up, the position in the backoff, and the data that a
// wait keeps to learn from.
void BM_WaitLoop_Polls(benchmark::State& state) {
  WaitOptions options = {.operation = "operation",
                         .timeout = absl::InfiniteDuration()};
  if (state.range(0) != 0) options.delay_source = MakeLearned();
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
