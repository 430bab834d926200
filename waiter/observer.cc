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
#include "waiter/result.h"

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
    case SleepReason::kDelaySource:
      return "delay source";
    case SleepReason::kRetryQuota:
      return "retry quota";
    case SleepReason::kRateLimit:
      return "rate limit";
    case SleepReason::kConfirming:
      return "confirming";
    case SleepReason::kFinalPoll:
      return "final poll";
    case SleepReason::kLearned:
      return "learned";
    case SleepReason::kResumed:
      return "resumed";
    case SleepReason::kAnswer:
      return "answer";
  }
  return "unknown reason";
}

ObserverList::ObserverList(
    std::vector<std::shared_ptr<WaitObserver>> observers) {
  members_.reserve(observers.size());
  for (std::shared_ptr<WaitObserver>& observer : observers) {
    if (observer == nullptr) continue;
    const PollHooks hooks = observer->poll_hooks();
    members_.push_back({.observer = std::move(observer), .hooks = hooks});
  }
}

void ObserverList::OnStart(const StartEvent& start) {
  for (const Member& member : members_) member.observer->OnStart(start);
}

void ObserverList::BeforePoll(const WaitIdentity& wait, int64_t attempt) {
  for (const Member& member : members_) {
    if (member.hooks.before_poll) member.observer->BeforePoll(wait, attempt);
  }
}

void ObserverList::AfterPoll(const PollEvent& poll) {
  for (const Member& member : members_) {
    if (member.hooks.after_poll) member.observer->AfterPoll(poll);
  }
}

void ObserverList::OnDecision(const DecisionEvent& decision) {
  for (const Member& member : members_) {
    if (member.hooks.on_decision) member.observer->OnDecision(decision);
  }
}

void ObserverList::BeforeSleep(const SleepEvent& sleep) {
  for (const Member& member : members_) {
    if (member.hooks.before_sleep) member.observer->BeforeSleep(sleep);
  }
}

void ObserverList::OnDone(const WaitIdentity& wait, const WaitReport& report) {
  for (const Member& member : members_) member.observer->OnDone(wait, report);
}

WaitObserver::PollHooks ObserverList::poll_hooks() const {
  PollHooks any = {.before_poll = false,
                   .after_poll = false,
                   .on_decision = false,
                   .before_sleep = false};
  for (const auto& [observer, hooks] : members_) {
    any.before_poll |= hooks.before_poll;
    any.after_poll |= hooks.after_poll;
    any.on_decision |= hooks.on_decision;
    any.before_sleep |= hooks.before_sleep;
  }
  return any;
}

void ObserveEveryWait(std::shared_ptr<WaitObserver> observer) {
  EveryWait::Get().Set(std::move(observer));
}

namespace internal {

std::shared_ptr<WaitObserver> Nobody() {
  static WaitObserver& nobody = *new WaitObserver;
  // Without an owner there is no reference count.
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
