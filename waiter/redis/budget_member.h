// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part that limiters and quotas share as members of a budget.

#ifndef WAITER_REDIS_BUDGET_MEMBER_H_
#define WAITER_REDIS_BUDGET_MEMBER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::internal {

// Returns a member of the budget `name` with a new id.
BudgetMember NewMember(std::string_view name);

// Returns OK, or an error if the value of `field` is not valid as a name.
absl::Status CheckName(std::string_view name, std::string_view field = "name");

}  // namespace waiter::internal

#endif  // WAITER_REDIS_BUDGET_MEMBER_H_
