// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The package wait of Kubernetes.

#include <functional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/policy.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace kubernetes_wait_test {
namespace {

using ::testing::SizeIs;

struct Deployment {
  int available;
  int replicas;
};

class Cluster {
 public:
  explicit Cluster(std::function<absl::StatusOr<Deployment>()> get)
      : get_(std::move(get)) {}

  absl::StatusOr<Deployment> GetDeployment(std::string_view /*name*/,
                                           absl::Time /*deadline*/) const {
    return get_();
  }

 private:
  std::function<absl::StatusOr<Deployment>()> get_;
};

// wait.PollUntilContextTimeout(ctx, 2*time.Second, 5*time.Minute, true, ...)
absl::Status WaitForRollOut(const Cluster& cluster, const std::stop_token& stop,
                            waiter::Clock* clock = nullptr) {
  waiter::Waiter wait(
      [&](const waiter::PollContext& poll) -> waiter::Poll<> {
        absl::StatusOr<Deployment> got =
            cluster.GetDeployment("web", poll.deadline);
        // In Go: return false, err
        if (!got.ok()) return waiter::Failed(got.status());
        if (got->available == got->replicas) return waiter::Success();
        return waiter::NotReady(
            absl::StrCat(got->available, " of ", got->replicas));
      },
      {.name = "deployment web",
       .timeout = absl::Minutes(5),
       .backoff = {.initial_delay = absl::Seconds(2),
                   .max_delay = absl::Seconds(2),
                   .jitter = waiter::Jitter::None()},
       .clock = clock});
  return wait.Wait(stop);
}

// wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 6}
waiter::WaitOptions SixSteps() {
  return {.timeout = absl::InfiniteDuration(),
          .max_attempts = 6,
          .backoff = {.initial_delay = absl::Seconds(1),
                      .max_delay = absl::InfiniteDuration(),
                      .jitter = waiter::Jitter::Between(1, 1.1)}};
}

TEST(KubernetesWaitTest, PollsEveryTwoSeconds) {
  waiter::SimulatedClock clock;
  int polls = 0;
  const Cluster cluster([&] { return Deployment{++polls, 4}; });

  EXPECT_TRUE(WaitForRollOut(cluster, {}, &clock).ok());

  EXPECT_EQ(clock.Elapsed(), absl::Seconds(6));
}

TEST(KubernetesWaitTest, EveryErrorEndsTheWait) {
  const Cluster cluster([] { return absl::UnavailableError("refused"); });

  EXPECT_TRUE(absl::IsUnavailable(WaitForRollOut(cluster, {})));
}

TEST(KubernetesWaitTest, RequestedStopMeansNoPoll) {
  std::stop_source stop;
  stop.request_stop();
  const Cluster cluster([] {
    ADD_FAILURE();
    return Deployment{4, 4};
  });

  EXPECT_TRUE(absl::IsCancelled(WaitForRollOut(cluster, stop.get_token())));
}

TEST(KubernetesWaitTest, DelaysAreThoseOfTheBackoff) {
  waiter::SplitMix64 gen(42);
  for (int i = 0; i < 1000; ++i) {
    const auto delays = waiter::Schedule(SixSteps(), gen);
    ASSERT_TRUE(delays.ok());
    ASSERT_THAT(*delays, SizeIs(5));
    absl::Duration base = absl::Seconds(1);
    for (const absl::Duration delay : *delays) {
      EXPECT_GE(delay, base);
      EXPECT_LE(delay, 1.1 * base);
      base *= 2;
    }
  }
}

}  // namespace
}  // namespace kubernetes_wait_test
