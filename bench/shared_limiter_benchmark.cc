// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Cost of asking a limiter before a poll: one of many processes, one of this
// process, and a call of the store for each poll, as limiters without slots
// make it.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "waiter/clock.h"
#include "waiter/distributed/budget_store.h"
#include "waiter/distributed/shared_rate_limiter.h"
#include "waiter/rate_limiter.h"

#ifdef WAITER_HAS_HIREDIS
#include <hiredis/hiredis.h>
#endif

namespace waiter {
namespace {

// Answers each request at the next `Deliver`, with as many slots as were
// wanted, whose times have come.
class GenerousStore final : public BudgetStore {
 public:
  void Grant(RateRequest request, RateCallback callback) override {
    request_ = std::move(request);
    callback_ = std::move(callback);
  }
  void Sync(QuotaRequest, QuotaCallback) override {}
  void RunAt(MonotonicTime, std::function<void()>) override {}
  Clock& clock() override { return GetRealClock(); }

  void Deliver(int64_t slots) {
    if (callback_ == nullptr) return;
    RateGrant grant = {.granted = slots,
                       .first_in = -std::chrono::seconds(1),
                       .interval = std::chrono::nanoseconds(1),
                       .rate = 1e9,
                       .members = 10,
                       .ask_again = std::chrono::seconds(5)};
    std::exchange(callback_, nullptr)(grant);
  }

 private:
  RateRequest request_;
  RateCallback callback_;
};

constexpr int64_t kSlots = 1'000'000;
// Fewer than half of the slots: a limiter asks for more then.
constexpr int64_t kPolls = 450'000;

void BM_SharedAcquire(benchmark::State& state) {
  const auto store = std::make_shared<GenerousStore>();
  const auto limiter = *SharedRateLimiter::Make(
      store, {.name = "api", .rate = 1e6, .horizon = absl::Seconds(10)});
  store->Deliver(kSlots);
  const MonotonicTime now = GetRealClock().MonotonicNow();
  for (auto _ : state) {
    if (limiter->Acquire(now) != now) state.SkipWithError("no slot");
  }
}
BENCHMARK(BM_SharedAcquire)->Iterations(kPolls);

void BM_AdaptiveAcquire(benchmark::State& state) {
  const MonotonicTime now = GetRealClock().MonotonicNow();
  const auto limiter = *AdaptiveRateLimiter::MakeLimiting({}, 1e9, now);
  MonotonicTime time = now;
  for (auto _ : state) {
    time += std::chrono::microseconds(1);
    benchmark::DoNotOptimize(limiter->Acquire(time));
  }
}
BENCHMARK(BM_AdaptiveAcquire)->Iterations(kPolls);

#ifdef WAITER_HAS_HIREDIS
void BM_CallPerPoll(benchmark::State& state) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the benchmark has one thread
  const char* const port = std::getenv("REDIS_PORT");
  redisContext* const redis =
      port == nullptr ? nullptr : redisConnect("127.0.0.1", std::atoi(port));
  if (redis == nullptr || redis->err != 0) {
    state.SkipWithError("REDIS_PORT names no server on 127.0.0.1");
  }
  for (auto _ : state) {
    // The least that such a limiter does.
    freeReplyObject(redisCommand(redis, "INCR api"));
  }
  if (redis != nullptr) redisFree(redis);
}
BENCHMARK(BM_CallPerPoll)->UseRealTime();
#endif

}  // namespace
}  // namespace waiter
