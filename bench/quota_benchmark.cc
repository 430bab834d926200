// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures what shared policies add to a poll. The targets are at most 20 ns
// with one thread, and with four threads no more than passing a mutex around.

#include <chrono>
#include <memory>
#include <mutex>

#include "benchmark/benchmark.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"

namespace waiter {
namespace {

constexpr MonotonicTime kStart{std::chrono::hours(1)};

// Returns an object that all threads of all repetitions share, as all waits of
// a process do.
template <auto kMake>
auto& Shared() {
  static const auto shared = kMake().value();
  return *shared;
}

auto MakeQuota() {
  return RetryQuota::Make({.capacity = 1e12, .retry_cost = 1});
}

auto MakeEmptyQuota() { return RetryQuota::Make({.capacity = 0}); }

auto MakeRefilledQuota() {
  return RetryQuota::Make({.capacity = 1e12,
                           .retry_cost = 1,
                           .refill_per_second = 10,
                           .when_spent = RetryQuotaOptions::WhenSpent::kWait});
}

auto MakeCompatibleQuota() {
  return RetryQuota::Make({.capacity = 1e12,
                           .retry_cost = 1,
                           .refill_per_second = 10,
                           .compatible = true});
}

auto MakeLimiter() { return AdaptiveRateLimiter::Make({}); }

// Returns a limiter that was throttled, but whose rate allows all polls.
auto MakeLimitingLimiter() {
  auto limiter =
      AdaptiveRateLimiter::Make({.min_fill_rate = 1e12, .min_capacity = 1e15});
  (*limiter)->Update(kStart, PollStatus::kThrottled);
  return limiter;
}

template <auto kMake>
void BM_RetryQuota_Acquire(benchmark::State& state) {
  RetryQuota& quota = Shared<kMake>();
  QuotaToken token;
  for (auto _ : state) {
    benchmark::DoNotOptimize(quota.Acquire(QuotaUse::kRetry, kStart, token));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RetryQuota_Acquire<MakeQuota>)->Threads(1)->Threads(4);
BENCHMARK(BM_RetryQuota_Acquire<MakeEmptyQuota>)->Threads(1)->Threads(4);
BENCHMARK(BM_RetryQuota_Acquire<MakeRefilledQuota>)->Threads(1)->Threads(4);
BENCHMARK(BM_RetryQuota_Acquire<MakeCompatibleQuota>)->Threads(1)->Threads(4);

void BM_RetryQuota_AcquireAndRelease(benchmark::State& state) {
  RetryQuota& quota = Shared<MakeQuota>();
  QuotaToken token;
  for (auto _ : state) {
    benchmark::DoNotOptimize(quota.Acquire(QuotaUse::kRetry, kStart, token));
    quota.Release(kStart, token);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RetryQuota_AcquireAndRelease)->Threads(1)->Threads(4);

template <auto kMake>
void BM_AdaptiveRateLimiter_Acquire(benchmark::State& state) {
  AdaptiveRateLimiter& limiter = Shared<kMake>();
  MonotonicTime now = kStart;
  for (auto _ : state) {
    now += std::chrono::nanoseconds(100);
    benchmark::DoNotOptimize(limiter.Acquire(now));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AdaptiveRateLimiter_Acquire<MakeLimiter>)->Threads(1)->Threads(4);
BENCHMARK(BM_AdaptiveRateLimiter_Acquire<MakeLimitingLimiter>)
    ->Threads(1)
    ->Threads(4);

void BM_AdaptiveRateLimiter_Update(benchmark::State& state) {
  AdaptiveRateLimiter& limiter = Shared<MakeLimiter>();
  MonotonicTime now = kStart;
  for (auto _ : state) {
    now += std::chrono::nanoseconds(100);
    limiter.Update(now, PollStatus::kNotReady);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AdaptiveRateLimiter_Update)->Threads(1)->Threads(4);

// The floor: a counter under a mutex.
void BM_Mutex_RoundTrip(benchmark::State& state) {
  static std::mutex mutex;
  static double tokens = 0;
  for (auto _ : state) {
    const std::lock_guard lock(mutex);
    benchmark::DoNotOptimize(tokens += 1);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Mutex_RoundTrip)->Threads(1)->Threads(4);

}  // namespace
}  // namespace waiter
