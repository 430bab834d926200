// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Fixture that the tests of `BatchPoller` share.

#ifndef WAITER_TESTS_SUPPORT_BATCH_FIXTURE_H_
#define WAITER_TESTS_SUPPORT_BATCH_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
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
  std::vector<BatchedCall> calls_;
  std::map<std::string, WaitResult<int>> results_;
  std::map<std::string, absl::Duration> ended_;
  std::optional<Poller> poller_;
  std::map<std::string, WaitHandle> handles_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_BATCH_FIXTURE_H_
