// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Limits of the rate at which the waits that share them poll. In one process,
// `AdaptiveRateLimiter` learns how many polls per second a server can bear; it
// lets every poll pass until the server throttles for the first time.
//
//   auto limiter = waiter::AdaptiveRateLimiter::Make({});
//   if (!limiter.ok()) return limiter.status();
//   options.rate_limiter = *limiter;  // In the options of many waits.
//
// Where one call polls many keys, `BatchOptions::rate_limiter` counts calls.
//
// Code that polls without a wait may use it directly, before and after each
// poll:
//
//   waiter::MonotonicTime start;
//   while ((start = (*limiter)->Acquire(now)) > now) {
//     // Sleep until `start` and read `now` again.
//   }
//   (*limiter)->Update(now, status);  // The status that the poll found.
//
// The rule is the adaptive retry mode of the AWS SDKs; rate_limiter_options.h
// has its formula and its parameters.

#ifndef WAITER_RATE_LIMITER_H_
#define WAITER_RATE_LIMITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/rate_limiter_parts.h"
#include "waiter/poll_status.h"
#include "waiter/rate_limiter_options.h"

namespace waiter {

// Snapshot of a limiter, for logs and tests. Rates are in polls per second,
// capacities in polls, times in seconds.
struct RateLimiterState {
  bool limiting = false;     // Whether the server has ever throttled.
  double measured_rate = 0;  // Smoothed rate of finished polls.
  double fill_rate = 0;      // Rate at which polls may pass now.
  double capacity = 0;       // Polls that may pass at once, at the last call.
  double max_capacity = 0;   // Upper limit of `capacity`.
  double last_max_rate = 0;  // w of the formula.
  double time_window = 0;    // k of the formula.
};

// What a wait asks before each poll and tells after it. Implementations must be
// thread-safe, and must neither block nor throw: the waits of a whole engine
// stand still meanwhile. All calls take `now` from the clock of the waits;
// readings of different threads need not be in order.
class RateLimiter {
 public:
  virtual ~RateLimiter() = default;

  // Takes one poll and returns `now`, or takes nothing and returns a later time
  // at which to call again. The rate may change in between, so call again after
  // each sleep until this returns `now`. A caller that gives up has nothing to
  // undo.
  virtual MonotonicTime Acquire(MonotonicTime now) = 0;

  // Counts a poll that ended at `now` and found `status`.
  virtual void Update(MonotonicTime now, PollStatus status) = 0;

  // Returns the polls per second that may pass now; nullopt: any number.
  virtual std::optional<double> Rate() const = 0;

  // Returns a limiter with the same options that shares nothing with this one,
  // as simulations need it.
  virtual std::shared_ptr<RateLimiter> MakeAlike() const = 0;
};

// Reads no clock and never sleeps, so a slow caller delays no other caller.
// Time is measured from the first call.
//
// Until the server throttles, `Acquire(now)` costs one atomic read. All other
// calls take a lock for a short time.
class AdaptiveRateLimiter final : public RateLimiter {
 public:
  // Returns a limiter that lets every poll pass, or the error of `Validate`.
  static absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>> Make(
      const RateLimiterOptions& options);

  // Returns a limiter that limits from `now` on, at `rate` polls per second as
  // if the server had just throttled, and adapts from there. `rate` must be
  // finite, and zero or more.
  static absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>> MakeLimiting(
      const RateLimiterOptions& options, double rate, MonotonicTime now);

  MonotonicTime Acquire(MonotonicTime now) override;

  // The same for `cost` polls at once. Returns an error if they could never
  // pass: kInvalidArgument if `cost` is negative or not finite,
  // kResourceExhausted if it is above the current `max_capacity`.
  absl::StatusOr<MonotonicTime> Acquire(MonotonicTime now, double cost);

  // Counts a poll that ended at `now`, and adapts the rate: down if `status` is
  // `kThrottled`, otherwise up. Call it after every poll, because the limiter
  // measures the rate by these calls.
  void Update(MonotonicTime now, PollStatus status) override;

  std::optional<double> Rate() const override;
  std::shared_ptr<RateLimiter> MakeAlike() const override;

  // Returns the state after the last call.
  RateLimiterState State() const;

  const RateLimiterOptions& options() const { return options_; }

 private:
  enum class Phase : uint8_t { kUnused, kMeasuring, kLimiting };

  explicit AdaptiveRateLimiter(const RateLimiterOptions& options,
                               double rate = 0);

  // Returns the seconds since the first call. If this is the first call, sets
  // `start_` under `mutex_` and returns zero.
  double Elapsed(MonotonicTime now);

  const RateLimiterOptions options_;

  // Written under `mutex_`. Read without it, too, because most limiters never
  // limit.
  std::atomic<Phase> phase_ = Phase::kUnused;
  // Constant once `phase_` is not kUnused.
  MonotonicTime start_{};

  // Changes only when the server throttles.
  internal::CubicRate cubic_ ABSL_GUARDED_BY(mutex_);

  // Shares a cache line with the members that `Acquire` writes, not with those
  // that it reads unlocked.
  ABSL_CACHELINE_ALIGNED mutable internal::Mutex mutex_;
  internal::RateBucket bucket_ ABSL_GUARDED_BY(mutex_);
  internal::RateMeter meter_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_RATE_LIMITER_H_
