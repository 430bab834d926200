// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Fixtures that the tests of `BatchPoller` share.

#ifndef WAITER_TESTS_SUPPORT_BATCH_FIXTURE_H_
#define WAITER_TESTS_SUPPORT_BATCH_FIXTURE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/joining_thread.h"
#include "waiter/backoff.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter {

// One call of a poller's function, its keys sorted.
struct BatchedCall {
  absl::Duration at;
  std::vector<std::string> keys;

  bool operator==(const BatchedCall& other) const = default;
};

inline void PrintTo(const BatchedCall& call, std::ostream* out) {
  *out << absl::FormatDuration(call.at) << testing::PrintToString(call.keys);
}

// Runs waits that poll every second, on simulated time, and records the calls
// that poll them.
class BatchFixture : public testing::Test {
 protected:
  using Answer = BatchAnswer<std::string, int>;
  using Poller = BatchPoller<std::string, int>;

  // Returns the answer of the simulated server.
  virtual absl::StatusOr<Answer> Serve(absl::Span<const std::string> keys) = 0;

  Poller& Make(BatchOptions options = {}) {
    return poller_.emplace(
        *engine_,
        [this](absl::Span<const std::string> keys) { return PollKeys(keys); },
        std::move(options));
  }

  WaitOptions EverySecondFor(absl::Duration timeout) {
    const BackoffOptions backoff = {.initial_delay = absl::Seconds(1),
                                    .multiplier = 1,
                                    .jitter = Jitter::None()};
    return {.timeout = timeout,
            .backoff = backoff,
            .errors = {.server_error_backoff = backoff,
                       .throttled_backoff = backoff},
            .clock = &clock_};
  }

  // Replaces the engine by one whose calls are tasks of `executor`.
  void UseExecutor(std::function<void(absl::AnyInvocable<void()>)> executor) {
    engine_.emplace(WaitEngineOptions{.threads = 0,
                                      .tick = absl::ZeroDuration(),
                                      .executor = std::move(executor),
                                      .clock = &clock_});
  }
  // The executor keeps the tasks for the test, which runs them.
  void QueueTasks() {
    UseExecutor([this](absl::AnyInvocable<void()> task) {
      tasks_.push_back(std::move(task));
    });
  }

  void Start(const std::string& key, WaitOptions options) {
    handles_[key] = poller_->Start(key, std::move(options), Take(key));
  }

  // Returns a callback that stores the result under `key`.
  std::function<void(WaitResult<int>)> Take(const std::string& key) {
    return [this, key](WaitResult<int> result) {
      EXPECT_TRUE(results_.emplace(key, std::move(result)).second) << key;
      ended_[key] = clock_.Elapsed();
    };
  }

  absl::StatusOr<Answer> PollKeys(absl::Span<const std::string> keys) {
    std::vector<std::string> sorted(keys.begin(), keys.end());
    std::sort(sorted.begin(), sorted.end());
    calls_.push_back({clock_.Elapsed(), std::move(sorted)});
    return Serve(keys);
  }

  SimulatedClock clock_;
  std::optional<WaitEngine> engine_{
      std::in_place,
      WaitEngineOptions{
          .threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_}};
  std::vector<absl::AnyInvocable<void()>> tasks_;
  std::vector<BatchedCall> calls_;
  std::map<std::string, WaitResult<int>> results_;
  std::map<std::string, absl::Duration> ended_;
  std::optional<Poller> poller_;
  std::map<std::string, WaitHandle> handles_;
};

// Threads that start and destroy waits for keys which other threads also use,
// on an engine of two threads, with an executor if the parameter is true.
class BatchThreadsFixture : public testing::TestWithParam<bool> {
 protected:
  using Answer = BatchAnswer<std::string, int>;
  using Poller = BatchPoller<std::string, int>;
  using Task = absl::AnyInvocable<void()>;

  WaitEngineOptions Options() {
    WaitEngineOptions options = {.threads = 2};
    if (!GetParam()) return options;
    // Each task gets a thread.
    options.executor = [this](Task task) {
      const std::lock_guard lock(mutex_);
      executor_threads_.emplace_back(
          [task = std::make_shared<Task>(std::move(task))] { (*task)(); });
    };
    return options;
  }

  std::unique_ptr<Poller> MakePoller(WaitEngine& engine, BatchOptions options) {
    options.max_batch = 7;
    return std::make_unique<Poller>(
        engine,
        [this](absl::Span<const std::string> keys) { return PollKeys(keys); },
        std::move(options));
  }

  // Starts waits of `pollers`. Keeps half of them until they end, and destroys
  // others now and then. Returns the rest.
  std::vector<WaitHandle> StartAndDestroy(const std::vector<Poller*>& pollers,
                                          uint64_t seed) {
    SplitMix64 gen(seed);
    std::vector<WaitHandle> handles;
    for (int i = 0; i < 400; ++i) {
      const std::string key(1 + gen() % 60, 'k');
      Poller& poller = *pollers[gen() % pollers.size()];
      if (gen() % 2 == 0) {
        ++kept_;
        WaitHandle wait =
            poller.Start(key, policy_, [this](const WaitResult<int>&) {
              ++ended_;
              ended_.notify_all();
            });
        if (key.size() % 3 == 0) wait.Cancel();
        wait.Detach();
      } else {
        handles.push_back(
            poller.Start(key, policy_, [](const WaitResult<int>&) {}));
      }
      if (gen() % 8 == 0) handles.clear();
    }
    return handles;
  }

  void AwaitKept() {
    for (int n = ended_; n < kept_; n = ended_) ended_.wait(n);
  }

  // All threads use it.
  const std::shared_ptr<const WaitPolicy> policy_ =
      WaitPolicy::Make({.timeout = absl::Minutes(10),
                        .backoff = {.initial_delay = absl::Milliseconds(1),
                                    .max_delay = absl::Milliseconds(2)}});
  std::atomic<int> kept_ = 0;
  std::atomic<int> ended_ = 0;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> repeated_ = false;  // A call had a key twice.
  std::mutex mutex_;
  std::vector<JoiningThread> executor_threads_;

 private:
  // A key whose length is a multiple of three is never ready.
  absl::StatusOr<Answer> PollKeys(absl::Span<const std::string> keys) {
    ++calls_;
    const std::set<std::string> distinct(keys.begin(), keys.end());
    if (distinct.size() != keys.size()) repeated_ = true;
    Answer answer;
    for (const std::string& key : keys) {
      if (key.size() % 3 != 0) answer.emplace(key, Success(1));
    }
    return answer;
  }
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_BATCH_FIXTURE_H_
