// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Finds out how many polls per second a server bears, and holds the waits that
// share it to that. It lets everything pass until the server throttles.
//
//   auto limiter = waiter::AdaptiveRateLimiter::Make({});
//   if (!limiter.ok()) return limiter.status();
//
// A driver, or `WaitLoop` for it, does this before and after every poll:
//
//   waiter::MonotonicTime start;
//   while ((start = (*limiter)->Acquire(now)) > now) {
//     // Sleep until `start`, and ask again.
//   }
//   (*limiter)->Update(now, status);  // What the poll has found.
//
// The rule is the adaptive retry mode of the AWS SDKs; rate_limiter_options.h
// has its formula and its parameters.

#ifndef WAITER_RATE_LIMITER_H_
#define WAITER_RATE_LIMITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/internal/rate_limiter_parts.h"
#include "waiter/poll_status.h"
#include "waiter/rate_limiter_options.h"

namespace waiter {

// How a limiter stands; rates are in polls per second.
struct RateLimiterState {
  bool limiting = false;  // Whether the server has ever throttled.
  double measured_rate = 0;
  double fill_rate = 0;
  double capacity = 0;
  double max_capacity = 0;
  double last_max_rate = 0;  // w of the formula.
  double time_window = 0;    // k of the formula.
};

// Thread-safe. Reads no clock and never sleeps, so a slow waiter holds nobody
// up: `now` may come from any one clock, and from threads whose readings cross.
// Time is measured from the first call on.
class AdaptiveRateLimiter {
 public:
  // Returns a limiter that lets everything pass, or the error of `Validate`.
  static absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>> Make(
      const RateLimiterOptions& options);

  // Takes one poll and returns `now`, or takes nothing and returns when to ask
  // again, which is later than `now`. The rate may change in between, so ask
  // again after the sleep, as often as it takes. Nobody who stops asking leaves
  // anything behind.
  MonotonicTime Acquire(MonotonicTime now);

  // The same for `cost` polls at once. What would never pass is an error at
  // once: kInvalidArgument if `cost` is negative or not finite,
  // kResourceExhausted if it is above the present capacity.
  absl::StatusOr<MonotonicTime> Acquire(MonotonicTime now, double cost);

  // Counts a poll that has ended at `now`, and adapts the rate: down if it was
  // `kThrottled`, and else up. To be called after every poll.
  void Update(MonotonicTime now, PollStatus status);

  // Returns the state as the last call has left it.
  RateLimiterState State() const;

  const RateLimiterOptions& options() const { return options_; }

 private:
  enum class Phase : uint8_t { kUnused, kMeasuring, kLimiting };

  explicit AdaptiveRateLimiter(const RateLimiterOptions& options);

  // Returns the seconds since the first call, which may be this. Takes `mutex_`
  // if it is.
  double Elapsed(MonotonicTime now);

  const RateLimiterOptions options_;

  // Written under `mutex_`; read without it too, as most limiters never limit.
  std::atomic<Phase> phase_ = Phase::kUnused;
  // Never changes once `phase_` is not kUnused.
  MonotonicTime start_{};

  // Guarded by `mutex_`. Changes only when the server throttles.
  internal::CubicRate cubic_;

  // Guards everything below. Not of Abseil, which spins before it blocks but
  // makes ThreadSanitizer report false races when it is built by g++. Shares a
  // cache line with what `Acquire` writes, not with what it reads unlocked.
  ABSL_CACHELINE_ALIGNED mutable std::mutex mutex_;
  internal::RateBucket bucket_;
  internal::RateMeter meter_;
};

}  // namespace waiter

#endif  // WAITER_RATE_LIMITER_H_
