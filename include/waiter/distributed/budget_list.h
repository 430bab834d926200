// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Which shared budgets a Redis or Valkey server has, and how much of them is
// used. `waiter budgets` prints it:
//
//   waiter::ListBudgets(client, [](absl::StatusOr<waiter::BudgetList> list) {
//     if (!list.ok()) return Report(list.status());
//     for (const waiter::RateBudget& budget : list->rates) {
//       std::cout << budget.name << " " << budget.polls_per_second << "\n";
//     }
//   });

#ifndef WAITER_DISTRIBUTED_BUDGET_LIST_H_
#define WAITER_DISTRIBUTED_BUDGET_LIST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/version.h"

namespace waiter {

class RedisClient;

// The budget of `SharedRateLimiter`s.
struct RateBudget {
  std::string name;
  // Polls per second that may pass; unset as long as nobody was throttled.
  std::optional<double> rate = std::nullopt;
  // Of the last second or so.
  double polls_per_second = 0;
  int64_t members = 0;
  int64_t busy_members = 0;  // Those that wanted slots in the last 2 s.
  // Why the numbers could not be read, as when the key is of another type.
  absl::Status error = {};
};

// The budget of `SharedRetryQuota`s.
struct QuotaBudget {
  std::string name;
  double capacity = 0;
  // Tokens that nobody has, and those that members have. The rest is spent.
  double free = 0;
  double leased = 0;
  int64_t members = 0;
  absl::Status error = {};
};

// Both are in the order of their names.
struct BudgetList {
  std::vector<RateBudget> rates;
  std::vector<QuotaBudget> quotas;
};

// Calls `callback` exactly once, on the client's thread and never before this
// has returned, with an error of `RedisClient::Call` if the server cannot be
// asked. Only reads, so that a replica serves. Looks through all keys of the
// server's database, a thousand at a time, and sees those of one node of a
// cluster. Thread-safe.
void ListBudgets(const std::shared_ptr<RedisClient>& client,
                 std::function<void(absl::StatusOr<BudgetList>)> callback);

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_BUDGET_LIST_H_
