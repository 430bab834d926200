// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The store of shared budgets on a Redis or Valkey server:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5");
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisBudgetStore>(*client);
//   auto limiter = waiter::SharedRateLimiter::Make(
//       store, {.name = "ec2.describe", .rate = 20, .burst = 100});
//
// A `RedisCluster` (distributed/redis_cluster.h) does as well. One store, with
// its connections, serves all budgets of a process. Its keys are
//
//   waiter:rate:{NAME}    and  :seen :busy :taken
//   waiter:quota:{NAME}   and  :held :ends :spent
//
// and vanish an hour after their last use, those of a rate `burst / rate` after
// it if that is longer. All of them may be deleted at any time;
// docs/distributed.md says what that costs.

#ifndef WAITER_DISTRIBUTED_REDIS_BUDGET_STORE_H_
#define WAITER_DISTRIBUTED_REDIS_BUDGET_STORE_H_

#include <functional>
#include <memory>

#include "waiter/clock.h"
#include "waiter/distributed/budget_store.h"

namespace waiter {

class RedisCaller;

class RedisBudgetStore final : public BudgetStore {
 public:
  explicit RedisBudgetStore(std::shared_ptr<RedisCaller> client);

  void Grant(RateRequest request, RateCallback callback) override;
  void Sync(QuotaRequest request, QuotaCallback callback) override;
  void RunAt(MonotonicTime time, std::function<void()> timer) override;
  Clock& clock() override;

 private:
  const std::shared_ptr<RedisCaller> client_;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_REDIS_BUDGET_STORE_H_
