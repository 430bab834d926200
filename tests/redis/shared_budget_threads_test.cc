// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Calls shared budgets from several threads, with a store that answers on its
// own thread. For ThreadSanitizer.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::shared_budget_threads_test {
namespace {

// Answers immediately, on its own thread. Every fifth answer is an error.
class ThreadedStore final : public BudgetStore {
 public:
  ThreadedStore() : state_(std::make_shared<State>()) {
    thread_ = std::thread([state = state_] { Run(*state); });
  }
  // This may run on the store's thread, because callbacks may own the store.
  ~ThreadedStore() override {
    {
      const std::lock_guard lock(state_->mutex);
      state_->ends = true;
    }
    state_->changed.notify_all();
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Grant(RateRequest request, RateCallback callback) override {
    rates += request.member.leaves ? 1000 : 1;
    Post({}, [request = std::move(request), callback = std::move(callback),
              fails = ++calls_ % 5 == 0] {
      if (fails) {
        callback(absl::UnavailableError("no"));
        return;
      }
      callback(RateGrant{.granted = request.want,
                         .interval = std::chrono::microseconds(10),
                         .rate = 100'000,
                         .members = 2,
                         .ask_again = std::chrono::milliseconds(5)});
    });
  }
  void Sync(QuotaRequest request, QuotaCallback callback) override {
    quotas += request.member.leaves ? 1000 : 1;
    Post({}, [request = std::move(request), callback = std::move(callback),
              fails = ++calls_ % 5 == 0] {
      if (fails) {
        callback(absl::UnavailableError("no"));
        return;
      }
      callback(QuotaGrant{.change = 400 - request.has,
                          .held = 400,
                          .level = 100,
                          .members = 2});
    });
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    Post(time, std::move(timer));
  }
  Clock& clock() override { return GetRealClock(); }

  std::atomic<int> rates = 0;
  std::atomic<int> quotas = 0;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool ends = false;
    std::multimap<MonotonicTime, std::function<void()>> calls;
  };

  void Post(MonotonicTime time, std::function<void()> call) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->calls.emplace(time, std::move(call));
    }
    state_->changed.notify_all();
  }

  static void Run(State& state) {
    std::unique_lock lock(state.mutex);
    while (!state.ends) {
      if (state.calls.empty()) {
        state.changed.wait(lock);
        continue;
      }
      const MonotonicTime first = state.calls.begin()->first;
      if (first > GetRealClock().MonotonicNow()) {
        state.changed.wait_until(lock, first);
        continue;
      }
      std::function<void()> call = std::move(state.calls.begin()->second);
      state.calls.erase(state.calls.begin());
      lock.unlock();
      call();
      call = nullptr;
      lock.lock();
    }
  }

  const std::shared_ptr<State> state_;
  std::thread thread_;
  std::atomic<int> calls_ = 0;
};

MonotonicTime Now() { return GetRealClock().MonotonicNow(); }

TEST(SharedBudgetThreadsTest, EveryPairOfCallsOfALimiter) {
  for (const std::optional<double> rate : {std::optional(100'000.0), {}}) {
    const auto store = std::make_shared<ThreadedStore>();
    auto limiter =
        *SharedRateLimiter::Make(store, {.name = "api", .rate = rate});
    {
      std::vector<JoiningThread> threads;
      threads.reserve(4);
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([limiter, i] {
          for (int j = 0; j < 2000; ++j) {
            const MonotonicTime now = Now();
            EXPECT_GE(limiter->Acquire(now), now);
            limiter->Update(now, j % 100 == 0 ? PollStatus::kThrottled
                                              : PollStatus::kNotReady);
            if (j % 50 == i) {
              static_cast<void>(limiter->Rate());
              EXPECT_GE(limiter->State().members, 1);
              static_cast<void>(limiter->MakeAlike()->Acquire(now));
              EXPECT_EQ(limiter->options().name, "api");
              std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
          }
        });
      }
      // The last thread that ends destroys the limiter.
      limiter = nullptr;
    }
    EXPECT_GE(store->rates, 1000);
    EXPECT_LT(store->rates, 2000);
  }
}

TEST(SharedBudgetThreadsTest, EveryPairOfCallsOfAQuota) {
  const auto store = std::make_shared<ThreadedStore>();
  auto shared = *SharedRetryQuota::Make(store, {.name = "api"});
  {
    std::vector<JoiningThread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([shared, i] {
        const std::shared_ptr<RetryQuota> quota = shared->quota();
        for (int j = 0; j < 2000; ++j) {
          QuotaToken token;
          const MonotonicTime now = Now();
          if (quota->Acquire(QuotaUse::kRetry, now, token).has_value()) {
            if (j % 3 == 0) quota->Release(now, token);
            if (j % 3 == 1) quota->Refund(now, token);
          }
          if (j % 50 == i) {
            EXPECT_LE(shared->State().available, 500);
            EXPECT_LE(shared->quota()->Available(now), 500);
            EXPECT_EQ(shared->options().name, "api");
            std::this_thread::sleep_for(std::chrono::microseconds(200));
          }
        }
      });
    }
    shared = nullptr;
  }
  EXPECT_GE(store->quotas, 1000);
  EXPECT_LT(store->quotas, 2000);
}

TEST(SharedBudgetThreadsTest, BudgetsMayGoOnTheThreadOfTheStore) {
  for (int i = 0; i < 50; ++i) {
    auto store = std::make_shared<ThreadedStore>();
    auto limiter = *SharedRateLimiter::Make(store, {.name = "api", .rate = 10});
    auto quota = (*SharedRetryQuota::Make(store, {.name = "api"}))->quota();
    std::atomic<bool> gone = false;
    store->RunAt(Now() + std::chrono::microseconds(i * 20),
                 [&gone, store, limiter = std::move(limiter),
                  quota = std::move(quota)]() mutable {
                   limiter = nullptr;
                   quota = nullptr;
                   gone = true;
                 });
    const std::weak_ptr<ThreadedStore> left = store;
    store = nullptr;
    while (!gone || !left.expired()) std::this_thread::yield();
  }
}

TEST(SharedBudgetThreadsTest, WaitsOfAnEngineShareBoth) {
  const auto store = std::make_shared<ThreadedStore>();
  WaitOptions options = {.timeout = absl::Minutes(5)};
  options.backoff = options.errors.server_error_backoff = {
      .initial_delay = absl::Milliseconds(1), .multiplier = 1};
  options.budgets.rate_limiter =
      *SharedRateLimiter::Make(store, {.name = "api", .rate = 100'000});
  options.budgets.retry_quota =
      (*SharedRetryQuota::Make(store, {.name = "api"}))->quota();
  std::atomic<int> ended = 0;
  {
    WaitEngine engine({.threads = 3});
    for (int i = 0; i < 100; ++i) {
      engine
          .Start(Waiter(
                     [polls = 0]() mutable {
                       return ++polls == 3 ? PollStatus::kSuccess
                                           : PollStatus::kServerError;
                     },
                     options),
                 [&](const WaitResult<>&) { ++ended; })
          .Detach();
    }
    while (ended < 90) std::this_thread::yield();
  }
  EXPECT_EQ(ended, 100);
}

}  // namespace
}  // namespace waiter::shared_budget_threads_test
