// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/presets.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace {

TEST(PoliciesTest, KnowsWhatOthersDo) {
  waiter::WaitOptions options = waiter::AwsStandard2026();
  options.timeout = absl::Minutes(1);
  EXPECT_NE(options.budgets.retry_quota, nullptr);
  waiter::Waiter wait([] { return waiter::PollStatus::kServerError; }, options);
  EXPECT_EQ(wait.Wait().reason(), waiter::StopReason::kAttempts);
}

}  // namespace
