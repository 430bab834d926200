// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures saving, checking and restoring a wait.

#include <chrono>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter {
namespace {

constexpr MonotonicTime kNow{std::chrono::hours(1000)};
const absl::Time kWall = absl::FromUnixSeconds(1'800'000'000);

// A wait of ten minutes, some of whose polls found an error.
WaitToken Save() {
  static const auto& report = *[] {
    auto* const made = new WaitReport;
    made->attempts = 40;
    made->counts = {0, 35, 2, 3, 0};
    made->last_poll = NotReady("CREATING");
    made->first_error =
        ServerError(absl::UnavailableError("connection refused"));
    made->last_error = Throttled("429");
    return made;
  }();
  return SaveWait({.start = kNow - std::chrono::minutes(10),
                   .deadline = kNow + std::chrono::minutes(30),
                   .step_started = kNow,
                   .slept = std::chrono::minutes(9),
                   .longest_poll = std::chrono::milliseconds(812),
                   .streak_length = 7,
                   .streak_started = kNow - std::chrono::minutes(2),
                   .asleep = true},
                  report, "instance i-0abc",
                  kNow + std::chrono::milliseconds(8123), {kNow, kWall});
}

void BM_SaveWait(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Save());
  state.counters["bytes"] = static_cast<double>(Save().bytes().size());
}
BENCHMARK(BM_SaveWait);

void BM_Parse(benchmark::State& state) {
  const WaitToken token = Save();
  for (auto _ : state) {
    benchmark::DoNotOptimize(WaitToken::Parse(token.bytes()));
  }
}
BENCHMARK(BM_Parse);

void BM_RestoreWait(benchmark::State& state) {
  const WaitToken token = Save();
  for (auto _ : state) {
    benchmark::DoNotOptimize(RestoreWait(token, {kNow, kWall}));
  }
}
BENCHMARK(BM_RestoreWait);

}  // namespace
}  // namespace waiter
