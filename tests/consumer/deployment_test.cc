// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "deployment.h"

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"
#include "waiter/testing/matchers.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace {

TEST(DeploymentTest, IsReadyAfterTenMinutesOfNobodysTime) {
  waiter::SimulatedClock clock;
  waiter::ScriptedPoll<std::string> script(
      clock, {{waiter::NotReady("CREATING"), absl::Minutes(1)},
              waiter::Success(std::string("READY"))});
  waiter::Waiter wait(std::ref(script),
                      {.timeout = absl::Hours(1), .clock = &clock});
  EXPECT_THAT(wait.Wait(), waiter::IsReadyWith("READY"));
  EXPECT_GT(clock.Elapsed(), absl::Minutes(1));
}

TEST(DeploymentTest, TimesOut) {
  waiter::SimulatedClock clock;
  EXPECT_THAT(AwaitReady([] { return "CREATING"; }, {.clock = &clock}),
              waiter::TimedOut());
  EXPECT_EQ(clock.Elapsed(), absl::Minutes(5));
}

TEST(DeploymentTest, FailsAtOnceWhereItIsNotAllowed) {
  EXPECT_THAT(
      AwaitReady([] { return absl::PermissionDeniedError("no entry"); }),
      waiter::FailedWith("no entry"));
}

}  // namespace
