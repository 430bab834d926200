// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/observer.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "waiter/internal/mutex.h"
#include "waiter/wait_report.h"

namespace waiter {
namespace {

// The observer of `ObserveEveryWait`.
class EveryWait {
 public:
  // Never destroyed, because waits may end after `main`.
  static EveryWait& Get() {
    static EveryWait& every_wait = *new EveryWait;
    return every_wait;
  }

  void Set(std::shared_ptr<WaitObserver> observer) {
    // Destroyed without the lock.
    std::shared_ptr<WaitObserver> before = std::move(observer);
    const internal::MutexLock lock(mutex_);
    is_set_.store(before != nullptr, std::memory_order_release);
    std::swap(observer_, before);
  }

  std::shared_ptr<WaitObserver> observer() const {
    // Spares most programs the lock.
    if (!is_set_.load(std::memory_order_acquire)) return nullptr;
    const internal::MutexLock lock(mutex_);
    return observer_;
  }

 private:
  mutable internal::Mutex mutex_;
  std::atomic<bool> is_set_ = false;
  std::shared_ptr<WaitObserver> observer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::string_view SleepReasonName(SleepReason reason) {
  switch (reason) {
    case SleepReason::kFirstPollDelay:
      return "first poll delay";
    case SleepReason::kNotReady:
      return "not ready";
    case SleepReason::kServerError:
      return "server error";
    case SleepReason::kThrottled:
      return "throttled";
    case SleepReason::kRetryAfter:
      return "retry after";
    case SleepReason::kDelayRule:
      return "delay rule";
    case SleepReason::kRetryQuota:
      return "retry quota";
    case SleepReason::kRateLimit:
      return "rate limit";
    case SleepReason::kConfirming:
      return "confirming";
    case SleepReason::kFinalPoll:
      return "final poll";
  }
  return "unknown reason";
}

ObserverList::ObserverList(std::vector<std::shared_ptr<WaitObserver>> observers)
    : observers_(std::move(observers)) {
  std::erase(observers_, nullptr);
}

void ObserverList::OnStart(const StartEvent& start) {
  for (const auto& observer : observers_) observer->OnStart(start);
}

void ObserverList::BeforePoll(const WaitIdentity& wait, int64_t attempt) {
  for (const auto& observer : observers_) observer->BeforePoll(wait, attempt);
}

void ObserverList::AfterPoll(const PollEvent& poll) {
  for (const auto& observer : observers_) observer->AfterPoll(poll);
}

void ObserverList::OnDecision(const DecisionEvent& decision) {
  for (const auto& observer : observers_) observer->OnDecision(decision);
}

void ObserverList::BeforeSleep(const SleepEvent& sleep) {
  for (const auto& observer : observers_) observer->BeforeSleep(sleep);
}

void ObserverList::OnDone(const WaitIdentity& wait, const WaitReport& report) {
  for (const auto& observer : observers_) observer->OnDone(wait, report);
}

void ObserveEveryWait(std::shared_ptr<WaitObserver> observer) {
  EveryWait::Get().Set(std::move(observer));
}

namespace internal {

std::shared_ptr<WaitObserver> Nobody() {
  static WaitObserver& nobody = *new WaitObserver;
  // Without an owner there is nothing to count.
  return {std::shared_ptr<void>(), &nobody};
}

std::shared_ptr<WaitObserver> ObserverOfWait(
    std::shared_ptr<WaitObserver> own) {
  if (own != nullptr && own == Nobody()) return nullptr;
  std::shared_ptr<WaitObserver> every = EveryWait::Get().observer();
  // A copy of a policy's options has it already.
  if (every == nullptr || every == own) return own;
  if (own == nullptr) return every;
  return std::make_shared<ObserverList>(
      std::vector<std::shared_ptr<WaitObserver>>{std::move(every),
                                                 std::move(own)});
}

}  // namespace internal
}  // namespace waiter
