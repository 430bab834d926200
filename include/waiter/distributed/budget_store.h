// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What budgets that many processes share need of a store. `RedisBudgetStore`
// (distributed/redis_budget_store.h) is one on Redis:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5");
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisBudgetStore>(*client);
//   auto limiter = waiter::SharedRateLimiter::Make(store, {.name = "ec2"});
//
// Programs need no more of this header than that. It is public for stores of
// your own, and for tests, which can put all processes and the store into one
// simulation.
//
// Times in requests and answers are durations, because each process has its own
// clock, and only that of the store counts.

#ifndef WAITER_DISTRIBUTED_BUDGET_STORE_H_
#define WAITER_DISTRIBUTED_BUDGET_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/rate_limiter_options.h"

namespace waiter {

// One member of a budget, which is one limiter or quota in one process. `id`
// differs from that of all others that ever were.
struct BudgetMember {
  std::string budget = {};  // Name of the budget.
  std::string id = {};
  bool leaves = false;  // The last request of the member.
};

// A member of a rate asks for slots, points in time at which one poll may pass,
// and reports its polls since its last request.
struct RateRequest {
  BudgetMember member = {};
  int64_t want = 0;  // Slots, in addition to those that it has.
  int64_t polls = 0;
  bool throttled = false;  // One of the polls was throttled.

  // Of the budget.
  // In polls per second; unset: adaptive.
  std::optional<double> rate = std::nullopt;
  double burst = 1;
  std::chrono::nanoseconds horizon{};  // Counts as two intervals if shorter.
  RateLimiterOptions adaptive = {};
};

// The slots that a member got, `first_in`, `first_in + interval` and so on from
// the time of the answer. The first may have passed already. At most 1000000
// slots count, within an hour.
struct RateGrant {
  int64_t granted = 0;
  std::chrono::nanoseconds first_in{};
  std::chrono::nanoseconds interval{};

  // Of the whole budget; unset as long as it has no limit, because nobody was
  // throttled.
  std::optional<double> rate = std::nullopt;
  int64_t members = 1;
  // Time after which to ask again; counts as at least 5 ms and at most 5 s.
  std::chrono::nanoseconds ask_again{};
};

// A member of a quota reports the tokens that it has, and gets or returns some.
struct QuotaRequest {
  BudgetMember member = {};
  // Tokens now, and those spent since the last answer. Both may be negative:
  // tokens owed, and tokens that successes brought.
  double has = 0;
  double spent = 0;
  // Tokens spent since the member began. A request whose answer was lost has
  // counted a part of `spent` already; a store that knows the member takes the
  // difference to the last request that it got.
  double spent_in_all = 0;

  // Of the budget.
  double capacity = 0;
  double refill_per_second = 0;
  double min_chunk = 0;
  std::chrono::nanoseconds lease{};
};

struct QuotaGrant {
  // Tokens to add, or, if negative, to give back.
  double change = 0;
  // Tokens that this member has then, by the account of the store, which is
  // `has` of the request plus `change`, and those that nobody has.
  double held = 0;
  double level = 0;
  int64_t members = 1;
};

// Thread-safe. Requests never block, and each is answered exactly once: also if
// the store is unreachable or this is destroyed. No callback and no timer is
// called inside of the function that was given it, under a lock, or at the same
// time as another one; they must return soon, and may own the store and destroy
// it.
class BudgetStore {
 public:
  using RateCallback = std::function<void(absl::StatusOr<RateGrant>)>;
  using QuotaCallback = std::function<void(absl::StatusOr<QuotaGrant>)>;

  virtual ~BudgetStore() = default;

  // An error kUnavailable means that the outcome is not known. All others mean
  // that the request had no effect.
  virtual void Grant(RateRequest request, RateCallback callback) = 0;
  virtual void Sync(QuotaRequest request, QuotaCallback callback) = 0;

  // Calls `timer` once, at `time` or soon after; not if this is destroyed
  // before.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of the timers, which must be that of the waits.
  virtual Clock& clock() = 0;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_BUDGET_STORE_H_
