// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/testing/gtest.h"
#include "waiter/testing/matchers.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace {

TEST(DeployTest, SimulatedTimePassesAtOnce) {
  waiter::SimulatedClock clock;
  const auto result =
      waiter::Waiter([] { return waiter::NotReady("starting"); },
                     {.timeout = absl::Hours(1), .clock = &clock})
          .Wait();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(result.report().elapsed, absl::Hours(1));
}

TEST(DeployTest, EventuallyPolls) {
  int looks = 0;
  EXPECT_EVENTUALLY(++looks, 3);
}

}  // namespace
