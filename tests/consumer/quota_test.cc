// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"

namespace {

TEST(QuotaTest, RefusesWhatItCannotPay) {
  const absl::StatusOr<std::shared_ptr<waiter::RetryQuota>> quota =
      waiter::RetryQuota::Make({.capacity = 20, .retry_cost = 14});
  ASSERT_TRUE(quota.ok());
  const waiter::MonotonicTime now;
  waiter::QuotaToken token;
  EXPECT_TRUE((*quota)->Acquire(waiter::QuotaUse::kRetry, now, token));
  EXPECT_FALSE((*quota)->Acquire(waiter::QuotaUse::kRetry, now, token));
}

}  // namespace
