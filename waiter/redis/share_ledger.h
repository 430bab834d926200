// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `SharedRetryQuota` in the process: which tokens it has by the
// account of the store, until when they are leased, and what holds while the
// store is away. It has no clock, lock or network. The tokens themselves are in
// a `RetryQuota`:
//
//   ShareLedger ledger(options, now);  // Has `starting_tokens()`.
//   store.Sync(ledger.BeginSync(now, quota.Available(now)), ...);
//   ...
//   ledger.Apply(ledger.OnGrant(grant, now), quota, now);
//   ledger.Apply(ledger.OnTime(now, available), quota, now);  // By a timer.

#ifndef WAITER_REDIS_SHARE_LEDGER_H_
#define WAITER_REDIS_SHARE_LEDGER_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "waiter/clock.h"
#include "waiter/redis/member_count.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::internal {

struct ShareLedgerOptions {
  double capacity = 0;
  double refill_per_second = 0;
  double min_chunk = 0;
  std::chrono::nanoseconds lease{};
};

// Thread-compatible. `now` may be earlier than in the call before.
class ShareLedger {
 public:
  using Mode = SharedBudgetMode;

  ShareLedger(const ShareLedgerOptions& options, MonotonicTime now);

  // Tokens that a new member has before the store was asked. The first sync
  // accounts for them.
  double starting_tokens() const { return options_.min_chunk; }

  // Returns the numbers of a request; `member` is for the caller to fill.
  // `available` is the number of tokens that the process still has.
  QuotaRequest BeginSync(MonotonicTime now, double available);

  // Each returns the tokens to add or, if negative, to take away. If some are
  // already spent, they are owed: call `Owe` with their number.
  double OnGrant(const QuotaGrant& grant, MonotonicTime now);
  double OnMiss(MonotonicTime now, double available);
  double OnTime(MonotonicTime now, double available);
  void Owe(double tokens) { owed_ += tokens; }

  // Returns whether so few tokens are left that the store should be asked.
  bool IsLow(MonotonicTime now, double available) const;

  bool SyncIsDue(MonotonicTime now) const {
    return !under_way_ && now >= next_sync_;
  }
  // Time of the next sync or `OnTime`, if nothing happens until then.
  MonotonicTime next_time() const;

  Mode mode() const { return mode_; }
  int64_t members() const { return members_.last(); }
  // Below this a sync is due.
  double low_level() const;
  std::optional<MonotonicTime> last_sync() const { return last_sync_; }

 private:
  using Nanoseconds = std::chrono::nanoseconds;

  double GoLocal(MonotonicTime now, double available);
  double ChangeLocally(double tokens);
  double LocalCapacity() const;
  // Time until which the first answer of the store is awaited.
  MonotonicTime silence_end() const;

  const ShareLedgerOptions options_;
  Mode mode_ = Mode::kStarting;
  // The sum of all tokens that came and went. Its difference to the available
  // tokens is what waits spent.
  double held_;
  double owed_ = 0;
  // Up to the last answered request, and in the one in flight.
  double spent_before_ = 0;
  double spent_when_sent_ = 0;
  double available_when_sent_ = 0;
  double changed_since_ = 0;

  bool under_way_ = false;
  bool limited_ = false;  // The store had no more.
  MonotonicTime sent_{};
  MonotonicTime next_sync_;
  std::optional<MonotonicTime> last_sync_;
  std::optional<MonotonicTime> first_miss_;
  int misses_ = 0;
  // End of the lease; unset without one, when `starting_tokens`
  // or a process alone gave the tokens.
  std::optional<MonotonicTime> lease_end_;
  // Since when local refill counts; unset while the store refills.
  std::optional<MonotonicTime> refilled_;
  MemberCount members_;
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_SHARE_LEDGER_H_
