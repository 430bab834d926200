// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Fixtures that the tests of `WaitEngine` share.

#ifndef WAITER_TESTS_SUPPORT_ENGINE_FIXTURE_H_
#define WAITER_TESTS_SUPPORT_ENGINE_FIXTURE_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter {

// Returns a backoff with the same delay after every poll.
constexpr BackoffOptions Every(absl::Duration delay) {
  return {.initial_delay = delay,
          .max_delay = delay,
          .multiplier = 1,
          .jitter = Jitter::None(),
          .min_delay = absl::ZeroDuration()};
}

// Collects the reports of waits in the order of their callbacks.
// Thread-compatible.
class Results {
 public:
  auto Take() {
    return [this](WaitResult<> result) {
      reports_.push_back(std::move(result).report());
    };
  }

  const std::vector<WaitReport>& reports() const { return reports_; }
  std::vector<StopReason> reasons() const {
    std::vector<StopReason> reasons;
    for (const WaitReport& report : reports_) reasons.push_back(report.reason);
    return reasons;
  }

 private:
  std::vector<WaitReport> reports_;
};

// Counts its copies, which callables on any thread hold. What destroys a copy
// happens before a count that no longer includes it, which `use_count()` of a
// shared pointer does not promise.
class CountedCopies {
 public:
  CountedCopies() : count_(std::make_shared<std::atomic<int>>(1)) {}
  CountedCopies(const CountedCopies& other) : count_(other.count_) {
    ++*count_;
  }
  CountedCopies(CountedCopies&&) = default;
  CountedCopies& operator=(const CountedCopies&) = delete;
  CountedCopies& operator=(CountedCopies&&) = delete;
  ~CountedCopies() {
    if (count_ != nullptr) --*count_;
  }

  int count() const { return *count_; }

 private:
  std::shared_ptr<std::atomic<int>> count_;
};

// Provides options for an engine without threads on simulated time, and for
// waits that poll each second.
class EngineFixture : public testing::Test {
 protected:
  WaitEngineOptions Simulated() {
    return {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_};
  }
  WaitEngineOptions Simulated(ReportLevel report) {
    WaitEngineOptions options = Simulated();
    options.report = report;
    return options;
  }
  template <typename Executor>
  WaitEngineOptions WithExecutor(Executor executor) {
    WaitEngineOptions options = Simulated();
    options.executor = std::move(executor);
    return options;
  }
  // The executor keeps its tasks until `RunTasks`.
  WaitEngineOptions Queued() {
    return WithExecutor([this](absl::AnyInvocable<void()> task) {
      tasks_.push_back(std::move(task));
    });
  }
  void RunTasks() {
    for (absl::AnyInvocable<void()>& task : std::exchange(tasks_, {})) task();
  }

  WaitOptions EverySecond(absl::Duration timeout = absl::Hours(1)) {
    return {.timeout = timeout,
            .backoff = Every(absl::Seconds(1)),
            .clock = &clock_};
  }

  auto Ready() {
    return Waiter([] { return true; }, EverySecond());
  }
  // Returns a status function and a callback that both hold `token_`.
  auto NeverReady() {
    return Waiter([this, token = token_] { return CountPoll(false); },
                  EverySecond());
  }
  auto TakeHolding() {
    return [this, token = token_](WaitResult<> result) {
      results_.Take()(std::move(result));
    };
  }
  bool CountPoll(bool answer) {
    ++polls_;
    return answer;
  }
  // Returns how many callables hold `token_`.
  int held() const { return token_.count() - 1; }

  SimulatedClock clock_;
  Results results_;
  std::vector<absl::AnyInvocable<void()>> tasks_;
  int polls_ = 0;
  CountedCopies token_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_ENGINE_FIXTURE_H_
