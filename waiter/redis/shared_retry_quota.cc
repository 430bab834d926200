// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/redis/budget_member.h"
#include "waiter/redis/share_ledger.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/text.h"

namespace waiter {
namespace {

double MinChunk(const SharedRetryQuotaOptions& options) {
  const RetryQuotaOptions& quota = options.quota;
  return options.min_chunk.value_or(std::min(
      quota.capacity, 2 * std::max({quota.retry_cost, quota.timeout_cost,
                                    quota.throttle_cost})));
}

}  // namespace

absl::Status Validate(const SharedRetryQuotaOptions& options) {
  using internal::InvalidOption;
  // Each condition is written so that NaN fails it.
  if (absl::Status status = internal::CheckName(options.name); !status.ok()) {
    return status;
  }
  const RetryQuotaOptions& quota = options.quota;
  if (absl::Status status = Validate(quota); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("quota.", status.message()));
  }
  if (!(quota.capacity >= 1 && quota.capacity <= 1e9)) {
    return InvalidOption("quota.capacity", quota.capacity,
                         "within [1, 1000000000]");
  }
  if (quota.when_spent == RetryQuotaOptions::WhenSpent::kWait) {
    return InvalidOption(
        "quota.when_spent", "kWait",
        "kRefuse or kTakeRest; a process does not know the refill");
  }
  if (quota.compatible) {
    return InvalidOption("quota.compatible", "true", "false");
  }
  if (!(options.lease >= absl::Seconds(5) &&
        options.lease <= absl::Minutes(10))) {
    return InvalidOption("lease", absl::FormatDuration(options.lease),
                         "within [5s, 10min]");
  }
  if (options.min_chunk.has_value() &&
      !(*options.min_chunk >= 0 && *options.min_chunk <= quota.capacity)) {
    return InvalidOption(
        "min_chunk", *options.min_chunk,
        absl::StrCat("within [0, quota.capacity], which is ", quota.capacity));
  }
  return absl::OkStatus();
}

// The tokens, the ledger with its lock, and the calls of the store.
class SharedRetryQuota::Member : public std::enable_shared_from_this<Member> {
 public:
  Member(std::shared_ptr<BudgetStore> store,
         const SharedRetryQuotaOptions& options)
      : store_(std::move(store)),
        member_(internal::NewMember(options.name)),
        ledger_({.capacity = options.quota.capacity,
                 .refill_per_second = options.quota.refill_per_second,
                 .min_chunk = MinChunk(options),
                 .lease = absl::ToChronoNanoseconds(options.lease)},
                store_->clock().MonotonicNow()) {}

  void Start(RetryQuotaOptions options) {
    const MonotonicTime now = store_->clock().MonotonicNow();
    options.refill_per_second = 0;  // The store refills.
    // The low level changes, so every payment asks.
    const auto on_payment = [member = weak_from_this()] {
      if (const auto self = member.lock()) self->OnPayment();
    };
    quota_ = *RetryQuota::Make(
        options, {.level = options.capacity + 1, .on_low = on_payment});
    quota_->Withdraw(options.capacity, now);
    {
      const internal::MutexLock lock(mutex_);
      quota_->Deposit(ledger_.starting_tokens(), now);
    }
    OnTimer();
  }

  void Leave() {
    const MonotonicTime now = store_->clock().MonotonicNow();
    QuotaRequest request;
    {
      const internal::MutexLock lock(mutex_);
      request = ledger_.BeginSync(now, quota_->Available(now));
      quota_->Withdraw(request.capacity, now);
    }
    request.member = member_;
    request.member.leaves = true;
    store_->Sync(std::move(request), [](const absl::StatusOr<QuotaGrant>&) {});
  }

  RetryQuota* quota() const { return quota_.get(); }

  SharedRetryQuotaState State() const {
    const MonotonicTime now = store_->clock().MonotonicNow();
    const internal::MutexLock lock(mutex_);
    SharedRetryQuotaState state = {.mode = ledger_.mode(),
                                   .members = ledger_.members(),
                                   .available = quota_->Available(now),
                                   .last_sync_age = std::nullopt,
                                   .last_error = last_error_};
    if (ledger_.last_sync().has_value()) {
      state.last_sync_age = absl::FromChrono(
          std::max(now - *ledger_.last_sync(), MonotonicTime::duration{}));
    }
    return state;
  }

 private:
  void OnPayment() {
    const MonotonicTime now = store_->clock().MonotonicNow();
    QuotaRequest request;
    {
      const internal::MutexLock lock(mutex_);
      const double available = quota_->Available(now);
      if (!ledger_.IsLow(now, available)) return;
      request = ledger_.BeginSync(now, available);
    }
    Send(std::move(request));
  }

  // Requires that `BeginSync` was called, and no lock.
  void Send(QuotaRequest request) {
    request.member = member_;
    store_->Sync(
        std::move(request),
        [member = weak_from_this()](const absl::StatusOr<QuotaGrant>& grant) {
          if (const auto self = member.lock()) self->OnAnswer(grant);
        });
  }

  void OnAnswer(const absl::StatusOr<QuotaGrant>& grant) {
    const MonotonicTime now = store_->clock().MonotonicNow();
    {
      const internal::MutexLock lock(mutex_);
      Apply(grant.ok() ? ledger_.OnGrant(*grant, now)
                       : ledger_.OnMiss(now, quota_->Available(now)),
            now);
      last_error_ = grant.status();
    }
    Arm();
  }

  void Apply(double change, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (change >= 0) {
      quota_->Deposit(change, now);
    } else {
      ledger_.Owe(-change - quota_->Withdraw(-change, now));
    }
  }

  // Makes sure that a timer fires when the ledger needs one.
  void Arm() {
    MonotonicTime time;
    {
      const internal::MutexLock lock(mutex_);
      time = ledger_.next_time();
      if (time >= armed_) return;
      armed_ = time;
    }
    store_->RunAt(time, [member = weak_from_this()] {
      if (const auto self = member.lock()) self->OnTimer();
    });
  }

  void OnTimer() {
    const MonotonicTime now = store_->clock().MonotonicNow();
    std::optional<QuotaRequest> request;
    {
      const internal::MutexLock lock(mutex_);
      if (now >= armed_) armed_ = MonotonicTime::max();
      Apply(ledger_.OnTime(now, quota_->Available(now)), now);
      if (ledger_.SyncIsDue(now)) {
        request = ledger_.BeginSync(now, quota_->Available(now));
      }
    }
    if (request.has_value()) Send(*std::move(request));
    // The lease may end before the answer.
    Arm();
  }

  const std::shared_ptr<BudgetStore> store_;
  const BudgetMember member_;
  std::shared_ptr<RetryQuota> quota_;

  mutable internal::Mutex mutex_;
  internal::ShareLedger ledger_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  // Time of the earliest timer.
  MonotonicTime armed_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::max();
};

absl::StatusOr<std::shared_ptr<SharedRetryQuota>> SharedRetryQuota::Make(
    std::shared_ptr<BudgetStore> store, SharedRetryQuotaOptions options) {
  if (store == nullptr) return absl::InvalidArgumentError("store is null");
  if (absl::Status status = Validate(options); !status.ok()) return status;
  std::shared_ptr<SharedRetryQuota> quota = absl::WrapUnique(
      new SharedRetryQuota(std::move(store), std::move(options)));
  quota->member_->Start(quota->options_.quota);
  return quota;
}

SharedRetryQuota::SharedRetryQuota(std::shared_ptr<BudgetStore> store,
                                   SharedRetryQuotaOptions options)
    : options_(std::move(options)),
      member_(std::make_shared<Member>(std::move(store), options_)) {}

SharedRetryQuota::~SharedRetryQuota() { member_->Leave(); }

std::shared_ptr<RetryQuota> SharedRetryQuota::quota() {
  return {shared_from_this(), member_->quota()};
}

SharedRetryQuotaState SharedRetryQuota::State() const {
  return member_->State();
}

}  // namespace waiter
