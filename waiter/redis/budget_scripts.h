// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The scripts of a `RedisBudgetStore`. If the meaning of a script changes, so
// does the version in its first line.

#ifndef WAITER_REDIS_BUDGET_SCRIPTS_H_
#define WAITER_REDIS_BUDGET_SCRIPTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::internal {

struct BudgetScripts {
  RedisScript rate_grant, quota_sync;
  // Take the keys of a budget. Return its rate, polls per second, members and
  // busy members, or its capacity, free and leased tokens, and members.
  RedisScript rate_status, quota_status;
  // Takes a cursor and a pattern, and returns the next cursor and some keys.
  RedisScript key_scan;
};
const BudgetScripts& GetBudgetScripts();

// The arguments of scripts.
std::vector<std::string> RateKeys(std::string_view budget);
std::vector<std::string> QuotaKeys(std::string_view budget);
std::vector<std::string> RateArguments(const RateRequest& request);
std::vector<std::string> QuotaArguments(const QuotaRequest& request);

// The replies of scripts; empty for a member that leaves.
absl::StatusOr<RateGrant> ToRateGrant(const absl::StatusOr<RedisReply>& reply,
                                      bool leaves);
absl::StatusOr<QuotaGrant> ToQuotaGrant(
    const absl::StatusOr<RedisReply>& reply);

// Returns the numbers of a reply, or an error if it does not have `count`.
absl::StatusOr<std::vector<double>> ToNumbers(
    const absl::StatusOr<RedisReply>& reply, size_t count);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_BUDGET_SCRIPTS_H_
