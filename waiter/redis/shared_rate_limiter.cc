// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
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
#include "waiter/poll.h"
#include "waiter/redis/budget_member.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/redis/slot_ledger.h"
#include "waiter/text.h"

namespace waiter {
namespace {

constexpr double kLeastRate = 0.001;
constexpr double kHighestRate = 1e6;

// A known rate in one process, for simulations.
class LoneLimiter final : public RateLimiter {
 public:
  explicit LoneLimiter(SharedRateLimiterOptions options)
      : options_(std::move(options)) {}

  MonotonicTime Acquire(MonotonicTime now) override {
    const internal::MutexLock lock(mutex_);
    // Starts full, as if no member had polled so far.
    if (!bucket_.has_value()) {
      bucket_.emplace(*options_.rate, options_.burst,
                      absl::ToChronoNanoseconds(options_.horizon),
                      MonotonicTime{});
    }
    return bucket_->Acquire(now);
  }
  void Update(MonotonicTime, PollStatus) override {}
  std::optional<double> Rate() const override { return options_.rate; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<LoneLimiter>(options_);
  }

 private:
  const SharedRateLimiterOptions options_;
  internal::Mutex mutex_;
  std::optional<internal::LocalBucket> bucket_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status Validate(const SharedRateLimiterOptions& options) {
  using internal::InvalidOption;
  // Each condition is written so that NaN fails it.
  if (absl::Status status = internal::CheckName(options.name); !status.ok()) {
    return status;
  }
  if (options.rate.has_value() &&
      !(*options.rate >= kLeastRate && *options.rate <= kHighestRate)) {
    return InvalidOption("rate", *options.rate, "within [0.001, 1000000]");
  }
  if (!(options.burst >= 1 && options.burst <= 1e6)) {
    return InvalidOption("burst", options.burst, "within [1, 1000000]");
  }
  if (absl::Status status = Validate(options.adaptive); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("adaptive.", status.message()));
  }
  if (!(options.adaptive.min_fill_rate >= kLeastRate &&
        options.adaptive.min_fill_rate <= kHighestRate)) {
    return InvalidOption("adaptive.min_fill_rate",
                         options.adaptive.min_fill_rate,
                         "within [0.001, 1000000]");
  }
  if (!(options.horizon >= absl::Milliseconds(50) &&
        options.horizon <= absl::Seconds(10))) {
    return InvalidOption("horizon", absl::FormatDuration(options.horizon),
                         "within [50ms, 10s]");
  }
  if (!(options.local_share >= 0 && options.local_share <= 1)) {
    return InvalidOption("local_share", options.local_share, "within [0, 1]");
  }
  return absl::OkStatus();
}

std::string_view ToString(SharedBudgetMode mode) {
  switch (mode) {
    case SharedBudgetMode::kStarting:
      return "starting";
    case SharedBudgetMode::kShared:
      return "shared";
    case SharedBudgetMode::kLocal:
      break;
  }
  return "local";
}

// The ledger with its lock, and the calls of the store.
class SharedRateLimiter::Member : public std::enable_shared_from_this<Member> {
 public:
  Member(std::shared_ptr<BudgetStore> store,
         const SharedRateLimiterOptions& options)
      : store_(std::move(store)),
        member_(internal::NewMember(options.name)),
        ledger_(options, store_->clock().MonotonicNow()) {}

  void Start() { OnTimer(); }

  MonotonicTime Acquire(MonotonicTime now) {
    if (passes_all_.load(std::memory_order_relaxed)) return now;
    internal::SlotLedger::Turn turn;
    RateRequest request;
    {
      const internal::MutexLock lock(mutex_);
      turn = ledger_.Acquire(now);
      if (!turn.ask && !turn.earlier) return turn.start;
      if (turn.ask) request = ledger_.BeginSync(now);
    }
    if (turn.ask) {
      Send(std::move(request));
    } else {
      Arm();
    }
    return turn.start;
  }

  void Update(MonotonicTime now, PollStatus status) {
    RateRequest request;
    {
      const internal::MutexLock lock(mutex_);
      if (!ledger_.OnPoll(now, status)) return;
      request = ledger_.BeginSync(now);
    }
    Send(std::move(request));
  }

  void Leave() {
    RateRequest request;
    {
      const internal::MutexLock lock(mutex_);
      request = ledger_.Leave();
    }
    request.member = member_;
    request.member.leaves = true;
    store_->Grant(std::move(request), [](const absl::StatusOr<RateGrant>&) {});
  }

  std::optional<double> Rate() const {
    const internal::MutexLock lock(mutex_);
    return ledger_.Rate();
  }

  SharedRateLimiterState State() const {
    const MonotonicTime now = store_->clock().MonotonicNow();
    const internal::MutexLock lock(mutex_);
    SharedRateLimiterState state = {.mode = ledger_.mode(),
                                    .rate = ledger_.Rate(),
                                    .members = ledger_.members(),
                                    .last_sync_age = std::nullopt,
                                    .last_error = last_error_,
                                    .granted = ledger_.granted(),
                                    .unused = ledger_.unused()};
    if (ledger_.last_sync().has_value()) {
      state.last_sync_age = absl::FromChrono(
          std::max(now - *ledger_.last_sync(), MonotonicTime::duration{}));
    }
    return state;
  }

 private:
  // Requires that `BeginSync` was called, and no lock.
  void Send(RateRequest request) {
    request.member = member_;
    store_->Grant(
        std::move(request),
        [member = weak_from_this()](const absl::StatusOr<RateGrant>& grant) {
          if (const auto self = member.lock()) self->OnAnswer(grant);
        });
    Watch();
  }

  // Makes sure that a timer fires if the answer takes too long. One timer
  // serves many requests.
  void Watch() {
    MonotonicTime time;
    {
      const internal::MutexLock lock(mutex_);
      time = ledger_.silence_end();
      if (is_watched_ || time == MonotonicTime::max()) return;
      is_watched_ = true;
    }
    store_->RunAt(time, [member = weak_from_this()] {
      if (const auto self = member.lock()) self->OnSilence();
    });
  }

  void OnSilence() {
    const MonotonicTime now = store_->clock().MonotonicNow();
    {
      const internal::MutexLock lock(mutex_);
      is_watched_ = false;
      ledger_.OnSilence(now);
      passes_all_.store(ledger_.PassesAll(), std::memory_order_relaxed);
    }
    Watch();
  }

  void OnAnswer(const absl::StatusOr<RateGrant>& grant) {
    const MonotonicTime now = store_->clock().MonotonicNow();
    {
      const internal::MutexLock lock(mutex_);
      if (grant.ok()) {
        ledger_.OnGrant(*grant, now);
      } else {
        ledger_.OnMiss(now,
                       /*had_no_effect=*/!absl::IsUnavailable(grant.status()));
      }
      last_error_ = grant.status();
      passes_all_.store(ledger_.PassesAll(), std::memory_order_relaxed);
    }
    Arm();
  }

  // Makes sure that a timer fires at the time of the next sync.
  void Arm() {
    MonotonicTime time;
    {
      const internal::MutexLock lock(mutex_);
      time = ledger_.next_sync();
      if (time >= armed_) return;
      armed_ = time;
    }
    store_->RunAt(time, [member = weak_from_this()] {
      if (const auto self = member.lock()) self->OnTimer();
    });
  }

  void OnTimer() {
    const MonotonicTime now = store_->clock().MonotonicNow();
    std::optional<RateRequest> request;
    {
      const internal::MutexLock lock(mutex_);
      if (now >= armed_) armed_ = MonotonicTime::max();
      if (ledger_.SyncIsDue(now)) request = ledger_.BeginSync(now);
    }
    if (request.has_value()) {
      Send(*std::move(request));
    } else {
      Arm();
    }
  }

  const std::shared_ptr<BudgetStore> store_;
  const BudgetMember member_;

  std::atomic<bool> passes_all_ = false;
  mutable internal::Mutex mutex_;
  internal::SlotLedger ledger_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  // Time of the earliest timer.
  MonotonicTime armed_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::max();
  bool is_watched_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::shared_ptr<SharedRateLimiter>> SharedRateLimiter::Make(
    std::shared_ptr<BudgetStore> store, SharedRateLimiterOptions options) {
  if (store == nullptr) return absl::InvalidArgumentError("store is null");
  if (absl::Status status = Validate(options); !status.ok()) return status;
  std::shared_ptr<SharedRateLimiter> limiter = absl::WrapUnique(
      new SharedRateLimiter(std::move(store), std::move(options)));
  limiter->member_->Start();
  return limiter;
}

SharedRateLimiter::SharedRateLimiter(std::shared_ptr<BudgetStore> store,
                                     SharedRateLimiterOptions options)
    : options_(std::move(options)),
      member_(std::make_shared<Member>(std::move(store), options_)) {}

SharedRateLimiter::~SharedRateLimiter() { member_->Leave(); }

MonotonicTime SharedRateLimiter::Acquire(MonotonicTime now) {
  return member_->Acquire(now);
}

void SharedRateLimiter::Update(MonotonicTime now, PollStatus status) {
  member_->Update(now, status);
}

std::optional<double> SharedRateLimiter::Rate() const {
  return member_->Rate();
}

std::shared_ptr<RateLimiter> SharedRateLimiter::MakeAlike() const {
  if (options_.rate.has_value()) {
    return std::make_shared<LoneLimiter>(options_);
  }
  return *AdaptiveRateLimiter::Make(options_.adaptive);
}

SharedRateLimiterState SharedRateLimiter::State() const {
  return member_->State();
}

}  // namespace waiter
