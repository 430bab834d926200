// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The scripts of a `RedisBudgetStore`. A change of what they mean is another
// version in their first lines.

#ifndef WAITER_DISTRIBUTED_BUDGET_SCRIPTS_H_
#define WAITER_DISTRIBUTED_BUDGET_SCRIPTS_H_

#include "waiter/distributed/redis_reply.h"

namespace waiter::internal {

const RedisScript& RateGrantScript();
const RedisScript& QuotaSyncScript();

}  // namespace waiter::internal

#endif  // WAITER_DISTRIBUTED_BUDGET_SCRIPTS_H_
