// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The scripts of a `RedisBudgetStore`. A change of what they mean is another
// version in their first lines.

#ifndef WAITER_DISTRIBUTED_BUDGET_SCRIPTS_H_
#define WAITER_DISTRIBUTED_BUDGET_SCRIPTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/distributed/budget_store.h"
#include "waiter/distributed/redis_reply.h"

namespace waiter::internal {

const RedisScript& RateGrantScript();
const RedisScript& QuotaSyncScript();

// What they take.
std::vector<std::string> RateKeys(std::string_view budget);
std::vector<std::string> QuotaKeys(std::string_view budget);
std::vector<std::string> RateArguments(const RateRequest& request);
std::vector<std::string> QuotaArguments(const QuotaRequest& request);

// What they return; for a member that leaves, nothing.
absl::StatusOr<RateGrant> ToRateGrant(const absl::StatusOr<RedisReply>& reply,
                                      bool leaves);
absl::StatusOr<QuotaGrant> ToQuotaGrant(
    const absl::StatusOr<RedisReply>& reply);

}  // namespace waiter::internal

#endif  // WAITER_DISTRIBUTED_BUDGET_SCRIPTS_H_
