// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A hand-written loop, and the wait that replaces it.

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace loop_test {
namespace {

using ::testing::HasSubstr;

struct Job {
  bool IsDone() const { return is_done(); }
  std::function<bool()> is_done;
};

bool WaitForJobByHand(const Job& job) {
  for (int i = 0; i < 60; ++i) {
    if (job.IsDone()) return true;
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
  return false;
}

absl::Status WaitForJob(const Job& job, const std::stop_token& stop,
                        waiter::Clock* clock = nullptr) {
  waiter::Waiter wait([&] { return job.IsDone(); },
                      {.name = "job 7",
                       .timeout = absl::Minutes(5),
                       .backoff = {.initial_delay = absl::Seconds(5),
                                   .max_delay = absl::Seconds(5),
                                   .jitter = waiter::Jitter::None()},
                       .clock = clock});
  return wait.Wait(stop);
}

TEST(LoopTest, BothFindAJobThatIsDone) {
  const Job job{[] { return true; }};

  EXPECT_TRUE(WaitForJobByHand(job));
  EXPECT_TRUE(WaitForJob(job, {}).ok());
}

TEST(LoopTest, WaitPollsEveryFiveSecondsAndAtTheEnd) {
  waiter::SimulatedClock clock;
  int polls = 0;
  const Job job{[&] {
    ++polls;
    return false;
  }};

  const absl::Status status = WaitForJob(job, {}, &clock);

  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(status.message(), HasSubstr("job 7: timeout of 5m reached"));
  EXPECT_EQ(polls, 61);
  EXPECT_EQ(clock.Elapsed(), absl::Minutes(5));
}

TEST(LoopTest, LimitOnAttemptsNeedsATimeout) {
  waiter::SimulatedClock clock;
  const auto wait = [&](waiter::WaitOptions options) {
    options.max_attempts = 60;
    options.backoff = {.initial_delay = absl::Seconds(5),
                       .max_delay = absl::Seconds(5),
                       .jitter = waiter::Jitter::None()};
    options.clock = &clock;
    return waiter::Waiter([] { return false; }, options).Wait();
  };

  EXPECT_EQ(wait({}).reason(), waiter::StopReason::kInvalidOptions);

  const waiter::WaitResult<> result =
      wait({.timeout = absl::InfiniteDuration()});
  EXPECT_EQ(result.reason(), waiter::StopReason::kAttempts);
  EXPECT_EQ(result.report().attempts, 60);
  EXPECT_EQ(clock.Elapsed(), 59 * absl::Seconds(5));
}

TEST(LoopTest, CapBelowTheFirstDelayIsAnError) {
  waiter::Waiter wait([] { return true; },
                      {.timeout = absl::Minutes(5),
                       .backoff = {.initial_delay = absl::Seconds(15)}});

  EXPECT_TRUE(absl::IsInvalidArgument(wait.Wait().status()));
}

}  // namespace
}  // namespace loop_test
