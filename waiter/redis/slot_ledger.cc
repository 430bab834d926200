// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/redis/slot_ledger.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/redis/sync_times.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Time between the requests of a member that does nothing. The store forgets
// members after 10 s.
constexpr nanoseconds kIdleGap = seconds(5);
// A member asks for 1.5 times the slots that it takes in a horizon.
constexpr double kReserve = 1.5;
constexpr int64_t kMostWanted = 1'000'000;
// Limits for the answers of a store. An interval is at most 1000 s.
constexpr nanoseconds kFarthestSlot = seconds(3600);
constexpr double kHugeRate = 1e12;
constexpr nanoseconds kLeastWait = milliseconds(1);
// Later estimates would be too late if the rate rises.
constexpr nanoseconds kFarthestEstimate = seconds(2);
constexpr double kSmoothing = 0.8;

double Seconds(nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// Rounded up, so that a slot is never early.
nanoseconds FromSeconds(double count) {
  return nanoseconds(static_cast<int64_t>(std::ceil(count * 1e9)));
}

// Returns `grant` with numbers that are safe to compute with. The store may
// have another implementation, and another program may have written its keys.
RateGrant Sane(RateGrant grant) {
  grant.granted = std::clamp<int64_t>(grant.granted, 0, kMostWanted);
  grant.first_in =
      std::clamp<nanoseconds>(grant.first_in, -kFarthestSlot, kFarthestSlot);
  grant.interval =
      std::clamp<nanoseconds>(grant.interval, nanoseconds(0), kFarthestSlot);
  if (grant.rate.has_value() && !(*grant.rate > 0 && *grant.rate < kHugeRate)) {
    // With zero or NaN, no poll would ever pass again.
    grant.rate = std::nullopt;
  }
  grant.members = std::max<int64_t>(1, grant.members);
  return grant;
}

}  // namespace

LocalBucket::LocalBucket(double rate, double burst, nanoseconds horizon,
                         MonotonicTime start)
    : interval_(rate > 0 ? FromSeconds(1 / rate) : nanoseconds::zero()),
      burst_(FromSeconds(rate > 0 ? (burst - 1) / rate : 0)),
      horizon_(horizon),
      next_(start) {}

MonotonicTime LocalBucket::Acquire(MonotonicTime now) {
  if (interval_ == nanoseconds::zero()) return now + seconds(1);
  const bool is_waited_for = told_ + horizon_ >= now;
  next_ = std::max(next_,
                   now - (is_waited_for ? std::max(burst_, horizon_) : burst_));
  if (next_ <= now) {
    next_ += interval_;
    return now;
  }
  // Each wait gets a different time, because they cannot all pass at the first.
  told_ = std::max(told_ + interval_, next_);
  return told_;
}

SlotLedger::SlotLedger(const SharedRateLimiterOptions& options,
                       MonotonicTime now)
    : options_(options),
      horizon_(absl::ToChronoNanoseconds(options.horizon)),
      takes_since_(now),
      next_sync_(now),
      ask_again_(kRetryGap),
      round_trip_(kLeastWait),
      shortest_trip_(seconds(1)),
      interval_(options.rate.has_value() ? FromSeconds(1 / *options.rate)
                                         : kLeastWait) {}

SlotLedger::Turn SlotLedger::Acquire(MonotonicTime now) {
  if (mode_ == Mode::kLocal) {
    return {.start = local_bucket_.has_value() ? local_bucket_->Acquire(now)
                                               : local_adaptive_->Acquire(now)};
  }
  if (PassesAll()) return {.start = now};
  DropOld(now);
  if (held_ > 0 && runs_.front().first <= now) {
    TakeFirst();
    return {.start = now,
            .ask = held_ * 2 <= held_at_grant_ &&
                   now >= sent_ + ask_again_ / 2 && MayAskEarly(now)};
  }
  const MonotonicTime next_sync = next_sync_;
  const MonotonicTime start = Tell(now);
  return {.start = start,
          .ask = refused_ > 0 && MayAskEarly(now),
          .earlier = next_sync_ < next_sync};
}

bool SlotLedger::OnPoll(MonotonicTime now, PollStatus status) {
  ++polls_;
  if (mode_ == Mode::kLocal) {
    if (local_adaptive_ != nullptr) local_adaptive_->Update(now, status);
    return false;
  }
  if (now < shared_polls_answer_) status = PollStatus::kNotReady;
  throttled_ |= status == PollStatus::kThrottled;
  if (mode_ == Mode::kStarting || under_way_) return false;
  if (status == PollStatus::kThrottled && MayReportThrottle(now)) return true;
  return now >= sent_ + ask_again_ && misses_ == 0;
}

// Reports by all members count once per measurement.
bool SlotLedger::MayReportThrottle(MonotonicTime now) const {
  // Throttling does not change a known rate.
  if (options_.rate.has_value()) return false;
  return !throttle_sent_.has_value() ||
         now - *throttle_sent_ >=
             absl::ToChronoNanoseconds(options_.adaptive.measurement_bucket);
}

// Time of the next sync for a wait without a slot; `max()` while one is in
// flight.
MonotonicTime SlotLedger::EarliestSync() const {
  if (under_way_) return MonotonicTime::max();
  if (mode_ != Mode::kShared || misses_ > 0) return next_sync_;
  return sent_ + (limited_ ? ask_again_ : kLeastGap);
}

bool SlotLedger::MayAskEarly(MonotonicTime now) const {
  return mode_ == Mode::kShared && misses_ == 0 && now >= EarliestSync();
}

void SlotLedger::DropOld(MonotonicTime now) {
  while (held_ > 0) {
    SlotRun& run = runs_.front();
    const nanoseconds age = now - run.first - run.lifetime;
    if (age <= nanoseconds::zero()) return;
    int64_t dropped = run.count;
    if (run.interval > nanoseconds::zero()) {
      dropped =
          std::min<int64_t>(dropped, (age - nanoseconds(1)) / run.interval + 1);
    }
    unused_ += dropped;
    held_ -= dropped;
    told_ = std::max<int64_t>(0, told_ - dropped);
    run.first = run.At(dropped);
    run.count -= dropped;
    if (run.count == 0) runs_.pop_front();
  }
}

void SlotLedger::TakeFirst() {
  SlotRun& run = runs_.front();
  run.first += run.interval;
  if (--run.count == 0) runs_.pop_front();
  --held_;
  if (told_ > 0) --told_;
  ++takes_;
}

// Returns the time of the next slot that no wait has, or a guess.
MonotonicTime SlotLedger::Tell(MonotonicTime now) {
  if (told_ < held_) {
    int64_t index = told_++;
    for (const SlotRun& run : runs_) {
      if (index < run.count) return std::max(run.At(index), now + kLeastWait);
      index -= run.count;
    }
  }
  // The next answer may bring slots at the whole rate, and a slot without a
  // wait is lost. So twice as many waits come; if there is no slot for one, it
  // gets another time.
  ++refused_;
  next_sync_ = std::min(next_sync_, EarliestSync());
  const MonotonicTime earliest = ExpectedAnswer(now);
  if (next_estimate_ > earliest + kFarthestEstimate) next_estimate_ = earliest;
  MonotonicTime start = std::max(next_estimate_, earliest);
  next_estimate_ = start + interval_ / 2;
  // At that time polls pass, with or without an answer.
  if (mode_ == Mode::kStarting) {
    start = std::min(start, std::max(EndOfPatience(), now + kLeastWait));
  }
  return start;
}

MonotonicTime SlotLedger::EndOfPatience() const {
  return first_miss_.value_or(sent_) + kLongestSilence;
}

MonotonicTime SlotLedger::ExpectedAnswer(MonotonicTime now) const {
  const MonotonicTime sent = under_way_         ? sent_
                             : MayAskEarly(now) ? now
                                                : next_sync_;
  return std::max(sent + 2 * round_trip_, now + kLeastWait);
}

void SlotLedger::MeasureTakes(MonotonicTime now) {
  if (now - takes_since_ < horizon_) return;
  const double rate = static_cast<double>(std::max(takes_, polls_)) /
                      Seconds(now - takes_since_);
  take_rate_ = kSmoothing * rate + (1 - kSmoothing) * take_rate_;
  takes_ = 0;
  takes_since_ = now;
}

RateRequest SlotLedger::BeginSync(MonotonicTime now) {
  DropOld(now);
  MeasureTakes(now);
  const double horizon = Seconds(std::max(horizon_, 2 * interval_));
  const auto ahead =
      static_cast<int64_t>(std::min(kReserve * take_rate_ * horizon, 1e6));
  int64_t want = refused_ + std::max<int64_t>(0, ahead - (held_ - told_));
  // If the store is asked again this soon, the load grows faster than its
  // measurement.
  if (refused_ > 0 && now < sent_ + ask_again_ / 2) {
    want = std::max(want, 2 * wanted_);
  }
  wanted_ = std::min(kMostWanted, want);
  idle_ = wanted_ == 0 && polls_ == 0;
  if (throttled_) throttle_sent_ = now;
  RateRequest request = Leave();
  request.want = wanted_;
  polls_sent_ = request.polls;
  refused_ = 0;
  under_way_ = true;
  sent_ = now;
  return request;
}

RateRequest SlotLedger::Leave() {
  return {.polls = std::exchange(polls_, 0),
          .throttled = std::exchange(throttled_, false),
          .rate = options_.rate,
          .burst = options_.burst,
          .horizon = horizon_,
          .adaptive = options_.adaptive};
}

void SlotLedger::OnGrant(const RateGrant& given, MonotonicTime now) {
  const RateGrant grant = Sane(given);
  under_way_ = false;
  misses_ = 0;
  first_miss_.reset();
  last_sync_ = now;
  members_.Observe(grant.members, now, mode_ == Mode::kLocal);
  if (mode_ != Mode::kShared) {
    if (mode_ == Mode::kLocal) {
      shared_polls_answer_ =
          now + absl::ToChronoNanoseconds(options_.adaptive.measurement_bucket);
    }
    mode_ = Mode::kShared;
    local_bucket_.reset();
    local_adaptive_ = nullptr;
    next_estimate_ = {};
  }
  rate_ = grant.rate;
  if (grant.interval > Nanoseconds::zero()) interval_ = grant.interval;
  ask_again_ = std::clamp(grant.ask_again, kLeastGap, kIdleGap);
  limited_ = grant.granted < wanted_;
  MeasureRoundTrip(std::max(now - sent_, Nanoseconds::zero()));
  AddSlots(grant, now);
  held_at_grant_ = held_;
  next_sync_ = sent_ + (idle_ ? kIdleGap : ask_again_);
  if ((throttled_ && MayReportThrottle(now)) || (refused_ > 0 && !limited_)) {
    next_sync_ = std::max(now, sent_ + kLeastGap);
  }
}

void SlotLedger::MeasureRoundTrip(Nanoseconds trip) {
  round_trip_ = std::clamp((round_trip_ + trip) / 2, Nanoseconds(kLeastWait),
                           Nanoseconds(horizon_));
  // Rises slowly, so that a slow answer now and then stands out.
  shortest_trip_ = std::min(trip, shortest_trip_ + shortest_trip_ / 16 +
                                      Nanoseconds(kLeastWait) / 16);
}

void SlotLedger::AddSlots(const RateGrant& grant, MonotonicTime now) {
  granted_ += grant.granted;
  if (grant.granted <= 0) return;
  // The store made the slots at an unknown time since the request. They are
  // placed as if that time were now, and so are never early. If the answer took
  // longer than usual, because the process was stopped, they end earlier by the
  // difference.
  const Nanoseconds lifetime =
      std::max(horizon_, 2 * grant.interval) -
      std::max(now - sent_ - shortest_trip_, Nanoseconds::zero());
  if (lifetime <= Nanoseconds::zero()) {
    unused_ += grant.granted;
    return;
  }
  int64_t passed = 0;
  if (grant.first_in <= Nanoseconds::zero()) {
    passed = grant.interval > Nanoseconds::zero()
                 ? std::min<int64_t>(grant.granted,
                                     -grant.first_in / grant.interval + 1)
                 : grant.granted;
    runs_.push_back({now, Nanoseconds::zero(), passed, lifetime});
  }
  if (passed < grant.granted) {
    runs_.push_back({now + grant.first_in + grant.interval * passed,
                     grant.interval, grant.granted - passed, lifetime});
  }
  held_ += grant.granted;
}

void SlotLedger::OnMiss(MonotonicTime now, bool had_no_effect) {
  under_way_ = false;
  if (had_no_effect) polls_ += polls_sent_;
  ++misses_;
  if (!first_miss_.has_value()) first_miss_ = sent_;
  throttled_ |= throttle_sent_ == sent_;
  next_sync_ = now + kRetryGap;
  if (mode_ != Mode::kLocal && misses_ >= kMissesToLocal &&
      now - *first_miss_ >= kTimeToLocal) {
    GoLocal(now);
  }
}

void SlotLedger::OnSilence(MonotonicTime now) {
  if (now >= silence_end()) GoLocal(now);
}

void SlotLedger::GoLocal(MonotonicTime now) {
  mode_ = Mode::kLocal;
  unused_ += held_;
  held_ = 0;
  told_ = 0;
  runs_.clear();
  throttled_ = false;
  if (options_.rate.has_value()) {
    const double share =
        last_sync_.has_value() ? 1 / members_.most() : options_.local_share;
    local_bucket_.emplace(*options_.rate * share,
                          std::max(1.0, options_.burst * share), horizon_, now);
    return;
  }
  // The options are valid, and so is the rate of a store.
  local_adaptive_ = rate_.has_value()
                        ? *AdaptiveRateLimiter::MakeLimiting(
                              options_.adaptive, *rate_ / members_.most(), now)
                        : *AdaptiveRateLimiter::Make(options_.adaptive);
}

bool SlotLedger::PassesAll() const {
  return mode_ == Mode::kShared && !rate_.has_value() &&
         !options_.rate.has_value();
}

std::optional<double> SlotLedger::Rate() const {
  switch (mode_) {
    case Mode::kStarting:
      return 0;
    case Mode::kShared:
      return rate_;
    case Mode::kLocal:
      break;
  }
  if (local_adaptive_ != nullptr) return local_adaptive_->Rate();
  return *options_.rate *
         (last_sync_.has_value() ? 1 / members_.most() : options_.local_share);
}

}  // namespace waiter::internal
