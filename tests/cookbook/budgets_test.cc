// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Shares budgets among many waits.

#include "waiter/budgets.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/testing/simulated_clock.h"

namespace budgets_test {
namespace {

using ::testing::Each;

// Options of all waits of this program for one server. Call this once and copy
// the result: the copies share the budgets.
absl::StatusOr<waiter::WaitOptions> SharedOptions() {
  auto quota = waiter::RetryQuota::Make(
      {.capacity = 500, .retry_cost = 10, .refill_per_second = 10});
  if (!quota.ok()) return quota.status();
  auto limiter = waiter::AdaptiveRateLimiter::Make({});
  if (!limiter.ok()) return limiter.status();
  return waiter::WaitOptions{.timeout = absl::Minutes(10),
                             .budgets = {.retry_quota = *std::move(quota),
                                         .rate_limiter = *std::move(limiter)}};
}

class BudgetsTest : public testing::Test {
 protected:
  // Runs `count` waits for a server that answers with `answer`.
  template <typename Answer>
  void Run(int count, Answer answer) {
    absl::StatusOr<waiter::WaitOptions> options = SharedOptions();
    ASSERT_TRUE(options.ok()) << options.status();
    options->clock = &clock_;
    for (int i = 0; i < count; ++i) {
      engine_
          .Start(waiter::Waiter(
                     [this, answer]() -> waiter::Poll<> {
                       polled_at_.push_back(clock_.Elapsed());
                       return answer();
                     },
                     *options),
                 [this](const waiter::WaitResult<>& result) {
                   ended_.push_back(result.reason());
                 })
          .Detach();
    }
    engine_.Run();
  }

  // Returns how many polls began within [`from`, `to`).
  int64_t Polls(absl::Duration from, absl::Duration to) const {
    return std::count_if(
        polled_at_.begin(), polled_at_.end(),
        [=](absl::Duration time) { return from <= time && time < to; });
  }

  waiter::SimulatedClock clock_;
  waiter::WaitEngine engine_{{.threads = 0, .clock = &clock_, .seed = 1}};
  std::vector<absl::Duration> polled_at_;
  std::vector<waiter::StopReason> ended_;
};

TEST_F(BudgetsTest, QuotaBoundsRepetitionsOfAllWaits) {
  Run(200, [] { return waiter::ServerError("down"); });

  const double seconds = absl::ToDoubleSeconds(clock_.Elapsed());
  EXPECT_LE(polled_at_.size(), 200 + (500 + 10 * seconds) / 10);
  EXPECT_THAT(ended_, Each(waiter::StopReason::kQuota));
}

TEST_F(BudgetsTest, LimiterSlowsDownAllWaitsWhenTheServerThrottles) {
  bool throttles = false;
  clock_.CallAt(absl::Seconds(60), [&] { throttles = true; });
  clock_.CallAt(absl::Seconds(61), [&] { throttles = false; });
  Run(50, [&] {
    return throttles ? waiter::Throttled("slow down")
                     : waiter::NotReady("working");
  });

  EXPECT_LT(Polls(absl::Seconds(62), absl::Seconds(70)),
            Polls(absl::Seconds(52), absl::Seconds(60)));
}

TEST_F(BudgetsTest, WaitingIsFree) {
  Run(10, [] { return waiter::NotReady(); });

  EXPECT_THAT(ended_, Each(waiter::StopReason::kDeadline));
}

}  // namespace
}  // namespace budgets_test
