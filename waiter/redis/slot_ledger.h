// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of a `SharedRateLimiter` in the process: which slots it has, which
// waits have which, when to ask the store and for how much, and what holds
// while the store is away. It has no clock, lock or network:
//
//   SlotLedger ledger(options, now);
//   SlotLedger::Turn turn = ledger.Acquire(now);
//   if (turn.ask) store.Grant(ledger.BeginSync(now), ...);
//   ...
//   ledger.OnGrant(grant, now);  // Or `OnMiss`, then
//   if (ledger.SyncIsDue(now)) ... // at `next_sync()`.

#ifndef WAITER_REDIS_SLOT_LEDGER_H_
#define WAITER_REDIS_SLOT_LEDGER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/member_count.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::internal {

// The remaining slots of one grant. Slots that had passed when the grant came
// are a run without interval.
struct SlotRun {
  MonotonicTime first;
  std::chrono::nanoseconds interval;
  int64_t count;
  // How long after its time a slot may be used.
  std::chrono::nanoseconds lifetime;

  MonotonicTime At(int64_t index) const { return first + interval * index; }
};

// A bucket for a known rate, while the store is away.
class LocalBucket {
 public:
  // The first poll may pass at `start`; the burst then fills. Waits may come up
  // to `horizon` after the time that they were given.
  LocalBucket(double rate, double burst, std::chrono::nanoseconds horizon,
              MonotonicTime start);
  MonotonicTime Acquire(MonotonicTime now);

 private:
  std::chrono::nanoseconds interval_;
  std::chrono::nanoseconds burst_;
  std::chrono::nanoseconds horizon_;
  MonotonicTime next_;  // Time of the next poll, without the burst.
  MonotonicTime told_{};
};

// Thread-compatible. `now` may be earlier than in the call before.
class SlotLedger {
 public:
  using Mode = SharedBudgetMode;

  struct Turn {
    MonotonicTime start;
    bool ask = false;      // To be followed by a sync.
    bool earlier = false;  // `next_sync()` is earlier than it was.
  };

  SlotLedger(const SharedRateLimiterOptions& options, MonotonicTime now);

  // As `RateLimiter::Acquire`.
  Turn Acquire(MonotonicTime now);

  // Counts a poll. Returns true if it is to be followed by a sync.
  bool OnPoll(MonotonicTime now, PollStatus status);

  // Returns the numbers of a request; `member` is for the caller to fill.
  RateRequest BeginSync(MonotonicTime now);
  void OnGrant(const RateGrant& given, MonotonicTime now);
  // The same for a request that failed. If it had no effect, the next one
  // also reports its polls.
  void OnMiss(MonotonicTime now, bool had_no_effect = false);
  // Returns the request by which the member leaves.
  RateRequest Leave();
  // Continues without the store if `silence_end()` has come.
  void OnSilence(MonotonicTime now);

  // When to stop awaiting the answer to a request in flight; `max()` if there
  // is no request, or if this already continues without the store.
  MonotonicTime silence_end() const {
    return under_way_ && mode_ != Mode::kLocal ? EndOfPatience()
                                               : MonotonicTime::max();
  }

  bool SyncIsDue(MonotonicTime now) const {
    return !under_way_ && now >= next_sync_;
  }
  // Time of the next sync, if nothing happens until then; `max()` while one is
  // in flight.
  MonotonicTime next_sync() const {
    return under_way_ ? MonotonicTime::max() : next_sync_;
  }

  // Returns whether every poll passes and is only counted.
  bool PassesAll() const;

  Mode mode() const { return mode_; }
  // Polls per second that may pass, of all members or, in the mode kLocal, of
  // this one.
  std::optional<double> Rate() const;
  int64_t members() const { return members_.last(); }
  std::optional<MonotonicTime> last_sync() const { return last_sync_; }
  int64_t granted() const { return granted_; }
  int64_t unused() const { return unused_; }

 private:
  using Nanoseconds = std::chrono::nanoseconds;

  void DropOld(MonotonicTime now);
  void TakeFirst();
  MonotonicTime Tell(MonotonicTime now);
  MonotonicTime ExpectedAnswer(MonotonicTime now) const;
  MonotonicTime EndOfPatience() const;
  MonotonicTime EarliestSync() const;
  bool MayAskEarly(MonotonicTime now) const;
  bool MayReportThrottle(MonotonicTime now) const;
  void MeasureTakes(MonotonicTime now);
  void AddSlots(const RateGrant& grant, MonotonicTime now);
  void MeasureRoundTrip(Nanoseconds trip);
  void GoLocal(MonotonicTime now);

  const SharedRateLimiterOptions options_;
  const Nanoseconds horizon_;
  Mode mode_ = Mode::kStarting;

  std::deque<SlotRun> runs_;
  int64_t held_ = 0;  // The slots in them.
  // How many slots, from the first on, waits got.
  int64_t told_ = 0;
  // Time that the next wait without a slot gets.
  MonotonicTime next_estimate_{};
  int64_t held_at_grant_ = 0;

  // Since the last sync: waits that got an estimate, polls that passed,
  // and polls that ended.
  int64_t refused_ = 0;
  int64_t polls_ = 0;
  int64_t polls_sent_ = 0;  // By the last sync.
  bool throttled_ = false;
  std::optional<MonotonicTime> throttle_sent_;
  // Until then, the answers come from polls that passed while the store was
  // away.
  MonotonicTime shared_polls_answer_{};
  int64_t takes_ = 0;
  MonotonicTime takes_since_;
  double take_rate_ = 0;  // Per second, smoothed.

  bool under_way_ = false;
  int64_t wanted_ = 0;
  bool idle_ = false;     // Nothing happened before the last sync.
  bool limited_ = false;  // The last grant was less than wanted.
  MonotonicTime sent_{};
  MonotonicTime next_sync_;
  Nanoseconds ask_again_;
  Nanoseconds round_trip_;     // Smoothed.
  Nanoseconds shortest_trip_;  // Shortest recent round trip.
  std::optional<MonotonicTime> last_sync_;
  std::optional<MonotonicTime> first_miss_;
  int misses_ = 0;

  // The last answer.
  std::optional<double> rate_;
  Nanoseconds interval_;
  MemberCount members_;

  // In the mode kLocal, one of them.
  std::optional<LocalBucket> local_bucket_;
  std::shared_ptr<AdaptiveRateLimiter> local_adaptive_;

  int64_t granted_ = 0;
  int64_t unused_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_REDIS_SLOT_LEDGER_H_
