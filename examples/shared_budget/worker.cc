// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One of many workers that poll an API and share its limit through Redis:
//
//   REDIS_URL=redis://127.0.0.1:6379 POLLS_PER_SECOND=20 worker
//
// README.md in this folder starts three of them. Each has 50 waits, which would
// poll more than 100 times per second without a limit. Each prints once per
// second how often it polled, and ends after SIGINT or SIGTERM.

#ifdef WAITER_HAS_HIREDIS

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "examples/stop_on_signal.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter_examples {
namespace {

int Run(const char* redis_url, double polls_per_second) {
  StopOnSignal stop;
  auto client = waiter::RedisClient::Make(redis_url);
  if (!client.ok()) {
    std::cerr << "REDIS_URL: " << client.status() << "\n";
    return 2;
  }
  const auto limiter = waiter::SharedRateLimiter::Make(
      std::make_shared<waiter::RedisBudgetStore>(*std::move(client)),
      {.name = "api", .rate = polls_per_second});
  if (!limiter.ok()) {
    std::cerr << "POLLS_PER_SECOND: " << limiter.status() << "\n";
    return 2;
  }

  std::atomic<int64_t> polls = 0;
  const auto policy = waiter::WaitPolicy::Make(
      {.timeout = absl::InfiniteDuration(),
       .backoff = {.initial_delay = absl::Milliseconds(500), .multiplier = 1},
       .budgets = {.rate_limiter = *limiter}});
  // Replace this with a call of your API. This one is never done.
  const auto call_api = [&polls] {
    ++polls;
    return waiter::PollStatus::kNotReady;
  };
  waiter::WaitEngine engine;
  for (int i = 0; i < 50; ++i) {
    engine.Start(waiter::Waiter(call_api, policy), [](const auto&) {}).Detach();
  }

  waiter::Clock& clock = waiter::GetRealClock();
  auto second = clock.MonotonicNow();
  while (!stop.token().stop_requested()) {
    clock.SleepUntil(second += std::chrono::seconds(1), stop.token(), "worker");
    const waiter::SharedRateLimiterState state = (*limiter)->State();
    std::cout << "polls=" << polls.exchange(0)
              << " mode=" << waiter::ToString(state.mode)
              << " members=" << state.members << " " << state.last_error
              << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace waiter_examples

int main() {
  const char* const redis_url = std::getenv("REDIS_URL");
  const char* const rate = std::getenv("POLLS_PER_SECOND");
  double polls_per_second = 0;
  if (redis_url == nullptr || rate == nullptr ||
      !absl::SimpleAtod(rate, &polls_per_second)) {
    std::cerr << "worker: set REDIS_URL and POLLS_PER_SECOND\n";
    return 2;
  }
  return waiter_examples::Run(redis_url, polls_per_second);
}

#else  // WAITER_HAS_HIREDIS

#include <iostream>

int main() {
  std::cerr << "worker: built without hiredis; install its headers (Debian: "
               "libhiredis-dev) and build again\n";
  return 1;
}

#endif  // WAITER_HAS_HIREDIS
