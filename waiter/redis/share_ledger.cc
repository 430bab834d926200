// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/share_ledger.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "waiter/clock.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/redis/sync_times.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kLimitedGap = milliseconds(500);
constexpr nanoseconds kSyncGap = seconds(2);
constexpr nanoseconds kRefillGap = seconds(1);

}  // namespace

ShareLedger::ShareLedger(const ShareLedgerOptions& options, MonotonicTime now)
    : options_(options), held_(options.min_chunk), next_sync_(now) {}

QuotaRequest ShareLedger::BeginSync(MonotonicTime now, double available) {
  const double has = available - owed_;
  under_way_ = true;
  sent_ = now;
  available_when_sent_ = available;
  changed_since_ = 0;
  spent_when_sent_ = held_ - has;
  return {.has = has,
          .spent = spent_when_sent_,
          .spent_in_all = spent_before_ + spent_when_sent_,
          .capacity = options_.capacity,
          .refill_per_second = options_.refill_per_second,
          .min_chunk = options_.min_chunk,
          .lease = options_.lease};
}

double ShareLedger::OnGrant(const QuotaGrant& grant, MonotonicTime now) {
  under_way_ = false;
  misses_ = 0;
  first_miss_.reset();
  last_sync_ = now;
  members_.Observe(grant.members, now, mode_ == Mode::kLocal);
  mode_ = Mode::kShared;
  refilled_.reset();
  limited_ = grant.level < 1;
  lease_end_ = sent_ + options_.lease;
  next_sync_ = sent_ + kSyncGap;
  spent_before_ += spent_when_sent_;
  if (std::isfinite(grant.held)) {
    held_ = grant.held;
    owed_ = 0;
  } else {
    held_ = available_when_sent_ - owed_;  // As if nothing had changed.
  }
  return held_ + owed_ - available_when_sent_ - changed_since_;
}

double ShareLedger::OnMiss(MonotonicTime now, double available) {
  under_way_ = false;
  ++misses_;
  if (!first_miss_.has_value()) first_miss_ = sent_;
  next_sync_ = now + kRetryGap;
  if (mode_ == Mode::kLocal || misses_ < kMissesToLocal ||
      now - *first_miss_ < kTimeToLocal) {
    return 0;
  }
  // Leased tokens stay until the end of the lease.
  if (lease_end_.has_value()) {
    mode_ = Mode::kLocal;
    return 0;
  }
  return GoLocal(now, available);
}

double ShareLedger::OnTime(MonotonicTime now, double available) {
  if (lease_end_.has_value() && now >= *lease_end_) {
    return GoLocal(now, available);
  }
  if (now >= silence_end()) return GoLocal(now, available);
  if (!refilled_.has_value() || now <= *refilled_) return 0;
  const double passed = std::chrono::duration<double>(now - *refilled_).count();
  refilled_ = now;
  return ChangeLocally(
      std::clamp(passed * options_.refill_per_second / members_.most(), 0.0,
                 std::max(0.0, LocalCapacity() - available)));
}

// By now the store has given the leased tokens to other members, or does not
// know of them. This process continues with its share, as if it were new.
double ShareLedger::GoLocal(MonotonicTime now, double available) {
  mode_ = Mode::kLocal;
  lease_end_.reset();
  refilled_ = now;
  owed_ = 0;
  return ChangeLocally(LocalCapacity() - available);
}

double ShareLedger::ChangeLocally(double tokens) {
  held_ += tokens;
  if (under_way_) changed_since_ += tokens;
  return tokens;
}

bool ShareLedger::IsLow(MonotonicTime now, double available) const {
  return !under_way_ && mode_ == Mode::kShared && misses_ == 0 &&
         available <= low_level() &&
         now >= sent_ + (limited_ ? kLimitedGap : kLeastGap);
}

double ShareLedger::low_level() const {
  return std::max(held_ / 4, options_.min_chunk / 2);
}

MonotonicTime ShareLedger::next_time() const {
  MonotonicTime time = under_way_ ? MonotonicTime::max() : next_sync_;
  if (lease_end_.has_value()) time = std::min(time, *lease_end_);
  time = std::min(time, silence_end());
  if (refilled_.has_value()) time = std::min(time, *refilled_ + kRefillGap);
  return time;
}

MonotonicTime ShareLedger::silence_end() const {
  return under_way_ && mode_ == Mode::kStarting
             ? first_miss_.value_or(sent_) + kLongestSilence
             : MonotonicTime::max();
}

double ShareLedger::LocalCapacity() const {
  return options_.capacity / members_.most();
}

}  // namespace waiter::internal
