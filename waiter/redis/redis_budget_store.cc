// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/redis/budget_scripts.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/reply.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter {

RedisBudgetStore::RedisBudgetStore(std::shared_ptr<RedisCaller> client)
    : client_(std::move(client)) {}

void RedisBudgetStore::Grant(RateRequest request, RateCallback callback) {
  const bool leaves = request.member.leaves;
  client_->Call(internal::GetBudgetScripts().rate_grant,
                internal::RateKeys(request.member.budget),
                internal::RateArguments(request),
                [leaves, callback = std::move(callback)](
                    const absl::StatusOr<RedisReply>& reply) {
                  callback(internal::ToRateGrant(reply, leaves));
                });
}

void RedisBudgetStore::Sync(QuotaRequest request, QuotaCallback callback) {
  client_->Call(internal::GetBudgetScripts().quota_sync,
                internal::QuotaKeys(request.member.budget),
                internal::QuotaArguments(request),
                [callback = std::move(callback)](
                    const absl::StatusOr<RedisReply>& reply) {
                  callback(internal::ToQuotaGrant(reply));
                });
}

void RedisBudgetStore::RunAt(MonotonicTime time, std::function<void()> timer) {
  client_->RunAt(time, std::move(timer));
}

Clock& RedisBudgetStore::clock() { return client_->clock(); }

}  // namespace waiter
