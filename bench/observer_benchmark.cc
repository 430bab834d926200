// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures what observers add to a poll, compared with the counter and the
// histogram of prometheus-cpp if it is installed. An item is a poll.

#include "waiter/observer.h"

#include <memory>

#include "benchmark/benchmark.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/waiter.h"

#ifdef WAITER_HAS_PROMETHEUS_CPP
#include "prometheus/counter.h"
#include "prometheus/histogram.h"
#endif

namespace waiter {
namespace {

constexpr int kPolls = 1000;

// Sees everything and does nothing.
class NullObserver : public WaitObserver {};

std::shared_ptr<WaitObserver> NoObserver() { return nullptr; }

// All threads share one observer, as all waits of a program do.
std::shared_ptr<WaitObserver> Null() {
  static const auto shared = std::make_shared<NullObserver>();
  return shared;
}

std::shared_ptr<WaitObserver> Metrics() {
  static const auto shared =
      std::make_shared<MetricsObserver>(std::make_shared<MetricsTable>());
  return shared;
}

template <auto kObserver>
void BM_Poll(benchmark::State& state) {
  int polls = 0;
  Waiter wait([&] { return ++polls % kPolls == 0; },
              {.operation = "create instance",
               .timeout = absl::InfiniteDuration(),
               .backoff = {.initial_delay = absl::ZeroDuration(),
                           .min_delay = absl::ZeroDuration()},
               .hooks = {.observer = kObserver()}});
  for (auto _ : state) {
    if (!wait.Wait().ok()) state.SkipWithError("a wait failed");
  }
  state.SetItemsProcessed(state.iterations() * kPolls);
}
BENCHMARK(BM_Poll<NoObserver>)->Threads(1)->Threads(2);
BENCHMARK(BM_Poll<Null>)->Threads(1)->Threads(2);
BENCHMARK(BM_Poll<Metrics>)->Threads(1)->Threads(2);

// The same on an engine without threads, which polls in rounds. A hundred waits
// run at a time, so a round has more than one poll.
template <auto kObserver>
void BM_EnginePoll(benchmark::State& state) {
  constexpr int kWaits = 100;
  const auto policy =
      WaitPolicy::Make({.operation = "create instance",
                        .timeout = absl::InfiniteDuration(),
                        .backoff = {.initial_delay = absl::ZeroDuration(),
                                    .min_delay = absl::ZeroDuration()},
                        .hooks = {.observer = kObserver()}});
  WaitEngine engine({.threads = 0});
  int ended = 0;
  int started = 0;
  for (auto _ : state) {
    for (int i = 0; i < kWaits; ++i) {
      engine
          .Start(Waiter([polls = 0]() mutable { return ++polls == kPolls; },
                        policy),
                 [&ended](const WaitResult<>& result) {
                   ended += result.ok() ? 1 : 0;
                 })
          .Detach();
    }
    started += kWaits;
    engine.Run();
  }
  if (ended != started) state.SkipWithError("a wait failed");
  state.SetItemsProcessed(state.iterations() * kWaits * kPolls);
}
BENCHMARK(BM_EnginePoll<NoObserver>)->Threads(1)->Threads(2);
BENCHMARK(BM_EnginePoll<Null>)->Threads(1)->Threads(2);
BENCHMARK(BM_EnginePoll<Metrics>)->Threads(1)->Threads(2);

#ifdef WAITER_HAS_PROMETHEUS_CPP

void BM_PrometheusCpp_Counter(benchmark::State& state) {
  static auto& counter = *new prometheus::Counter();
  for (auto _ : state) counter.Increment();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PrometheusCpp_Counter)->Threads(1)->Threads(2);

void BM_PrometheusCpp_Histogram(benchmark::State& state) {
  static auto& histogram =
      *new prometheus::Histogram({0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                  0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30});
  for (auto _ : state) histogram.Observe(0.0000001);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PrometheusCpp_Histogram)->Threads(1)->Threads(2);

#endif  // WAITER_HAS_PROMETHEUS_CPP

}  // namespace
}  // namespace waiter
