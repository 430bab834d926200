// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Budgets shared by the waits of a process, which together must not overload a
// server. A `RetryQuota` limits polls that follow errors, and a `RateLimiter`
// limits polls per second:
//
//   auto quota = waiter::RetryQuota::Make({.capacity = 500});
//   if (!quota.ok()) return quota.status();
//   auto limiter = waiter::AdaptiveRateLimiter::Make({});
//   if (!limiter.ok()) return limiter.status();
//   options.budgets.retry_quota = *quota;  // In the options of many waits.
//   options.budgets.rate_limiter = *limiter;
//
// redis/shared_budgets.h provides budgets that many processes share.

#ifndef WAITER_BUDGETS_H_
#define WAITER_BUDGETS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/rate_limiter_parts.h"
#include "waiter/poll.h"
#include "waiter/version.h"

namespace waiter {

// The reason for a poll, which determines its cost.
enum class QuotaUse : uint8_t {
  kFirstPoll,  // `initial_cost`; a success gives back `success_increment`.
  kRetry,      // `retry_cost`: after a server or client error.
  kTimeout,    // `timeout_cost`: after a kDeadlineExceeded error.
  kThrottled,  // `throttle_cost`: after a throttled answer.
};

// Amounts are in tokens. They may be fractional, but must be finite and zero or
// more. The AWS SDKs have had these defaults since 2026; before, `retry_cost`
// was 5, and `timeout_cost` and `throttle_cost` were 10.
struct RetryQuotaOptions {
  enum class WhenSpent : uint8_t {
    kRefuse,    // `Acquire` returns nullopt.
    kTakeRest,  // `Acquire` takes the tokens that are left, or returns nullopt
                // if less than one is left, as in aws-c-io. Unlike aws-c-io,
                // neither `Release` nor `Refund` gives these tokens back.
    kWait,      // `Acquire` returns the time at which refill covers the cost,
                // first come, first served. Requires refill, and no cost above
                // the capacity.
  };

  // Maximum number of tokens, and the initial number.
  double capacity = 500;

  // Costs of a poll by its `QuotaUse`, and the tokens that a successful first
  // poll adds. A quota with less than `initial_cost` refuses even the first
  // poll of a wait.
  double initial_cost = 0;  // At most `capacity`.
  double success_increment = 1;
  double retry_cost = 14;
  double timeout_cost = 14;
  double throttle_cost = 5;

  // Tokens refilled per second. Zero: none.
  double refill_per_second = 0;

  WhenSpent when_spent = WhenSpent::kRefuse;

  // Accounts for time inexactly, as the AWS SDK for Kotlin does. Without refill
  // there is no difference. With refill:
  //   (a) Refill is rounded down to whole tokens; every operation except a
  //       refusal loses the fraction.
  //   (b) After a refusal, the same refill is added again.
  //   (c) A wait for tokens takes whole seconds, loses the refill beyond its
  //       cost, and makes all others queue behind it, even free polls.
  bool compatible = false;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const RetryQuotaOptions& options);

// Record of the last `Acquire` of one wait, 1 byte. Thread-compatible. May be
// used with only one quota, and may be dropped at any time: the tokens then
// stay spent.
class QuotaToken {
 public:
  // For saving a wait: a byte that means the same in other builds.
  uint8_t ToByte() const { return use_; }
  // Returns nullopt for a byte that `ToByte` does not return.
  static std::optional<QuotaToken> FromByte(uint8_t byte) {
    if (byte > kNothing) return std::nullopt;
    QuotaToken token;
    token.use_ = byte;
    return token;
  }

 private:
  friend class RetryQuota;
  static constexpr uint8_t kNothing = 4;
  uint8_t use_ = kNothing;  // Or a `QuotaUse`.
};

// Low mark of a quota, and its callback.
struct QuotaLowMark {
  // `Acquire` calls `on_low` if it pays and leaves less than this, or is
  // refused.
  double level = 0;
  // Must be thread-safe and return soon; may use the quota. Null: not called.
  std::function<void()> on_low = nullptr;
};

// A token bucket that keeps many waits from jointly overloading a server that
// is already failing. A poll after an error costs tokens. A success returns the
// cost of the last poll that its wait paid for; all other tokens come back only
// with time, at `refill_per_second`, as in the AWS SDKs. A poll after "not
// ready" is free.
//
// Code that polls without a wait may use a quota directly:
//
//   waiter::QuotaToken token;  // One byte per wait.
//   std::optional<waiter::MonotonicTime> start =
//       (*quota)->Acquire(waiter::QuotaUse::kRetry, now, token);
//   if (!start.has_value()) return;  // Refused: poll no more.
//   // If `*start` is later than `now`, sleep until then. Then poll.
//   (*quota)->Release(now, token);   // After a success.
//
// Thread-safe. Never reads a clock or sleeps. All calls must take `now` from
// the same clock; readings on different threads need not be in order.
// Lock-free, unless `compatible`. With refill, token counts are exact to one
// nanosecond of refill while `now` is below 100 days; without it, they are
// always exact.
class RetryQuota {
 public:
  // Returns a full quota, or the error of `Validate`.
  static absl::StatusOr<std::shared_ptr<RetryQuota>> Make(
      const RetryQuotaOptions& options, QuotaLowMark low_mark = {});

  // Takes the cost of `use` and returns the time at which the poll may start:
  // `now`, or later with `kWait`. Unless `compatible`, a free poll never waits.
  // The tokens are taken immediately, so the caller holds nothing while it
  // sleeps. `token` then records this cost instead of an earlier one.
  //
  // If refused, returns nullopt, takes nothing and leaves `token` as it is.
  std::optional<MonotonicTime> Acquire(QuotaUse use, MonotonicTime now,
                                       QuotaToken& token);

  // Gives back the cost that `token` records, or `success_increment` for a
  // first poll, up to the capacity. Call it when the wait succeeds. A second
  // call does nothing.
  void Release(MonotonicTime now, QuotaToken& token);

  // Gives back everything that the last `Acquire` of `token` took, up to the
  // capacity. Call it when the poll that was paid for will not start. Polls
  // that already have a start time keep it; later ones wait less. A second
  // call, or a call after `Release`, does nothing.
  void Refund(MonotonicTime now, QuotaToken& token);

  // For a supplier that moves tokens between quotas. `Deposit` adds tokens, up
  // to the capacity. `Withdraw` takes available tokens, up to `most`, and
  // returns how many. Amounts must be zero or more.
  void Deposit(double tokens, MonotonicTime now);
  double Withdraw(double most, MonotonicTime now);

  // Returns the number of tokens at `now`. It is negative if polls that wait
  // for refill still owe tokens.
  double Available(MonotonicTime now) const;

  const RetryQuotaOptions& options() const { return options_; }

 private:
  RetryQuota(const RetryQuotaOptions& options, QuotaLowMark low_mark);

  // Returns the tokens that refill has brought since the origin of the clock.
  double Refilled(MonotonicTime now) const;
  // The part of its cost that a payment took.
  enum class Taken : uint8_t { kNothing, kRest, kAll };
  // Both move `time` from the current time to the start of the poll, unless
  // they take nothing.
  Taken Take(double cost, MonotonicTime& time);
  Taken TakeCompatibly(double cost, MonotonicTime& time);
  void Add(double tokens, MonotonicTime now);
  double TokensCompatibly(MonotonicTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RetryQuotaOptions options_;
  const QuotaLowMark low_mark_;
  // By `QuotaUse`, and zero for `kNothing`.
  const std::array<double, QuotaToken::kNothing + 1> costs_;
  const double refill_per_nanosecond_;

  // The tokens at `now` are min(capacity, level_ + Refilled(now)). So one
  // number suffices, and time does not change it. Members that are only read
  // are on other cache lines.
  ABSL_CACHELINE_ALIGNED std::atomic<double> level_;

  // For `compatible` only: the tokens at `mark_`. If the last wait for tokens
  // is not over yet, `mark_` is its end.
  mutable internal::Mutex mutex_;
  double tokens_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime mark_ ABSL_GUARDED_BY(mutex_){};
};

// Options of an `AdaptiveRateLimiter`. The defaults, which all AWS SDKs use,
// suit most servers. For a server that recovers slowly:
//
//   auto limiter = waiter::AdaptiveRateLimiter::Make({.scale_constant = 0.1});
//
// The rule is the adaptive retry mode of the AWS SDKs, which follows CUBIC (RFC
// 9438). With rates in polls per second and times in seconds,
//
//   throttled   w = the measured rate, at most the allowed one
//               allowed = beta * w
//   otherwise   allowed = scale_constant * (t - k)^3 + w
//
// where t is the time since the last throttled answer, and k = cbrt(w * (1 -
// beta) / scale_constant) is when the allowed rate is back at w. The allowed
// rate is at most growth_limit times the measured rate. All numbers must be
// finite.
struct RateLimiterOptions {
  // Share of the rate that remains when the server throttles. Within (0, 1).
  double beta = 0.7;

  // Weight of the newest measurement against all earlier ones. Within (0, 1].
  double smoothing = 0.8;

  // Speed at which the rate recovers and grows. Above zero.
  double scale_constant = 0.4;

  // Polls per second that are always allowed. Above zero.
  double min_fill_rate = 0.5;

  // Lower limit of the capacity, the number of polls that may pass together
  // after a pause. The capacity is otherwise one second's worth of the allowed
  // rate. At least 1, or no poll could pass.
  double min_capacity = 1;

  // Time over which polls are counted to measure their rate. Above zero.
  Duration measurement_bucket = absl::Milliseconds(500);

  // Upper limit of the allowed rate, as a multiple of the measured one, which
  // keeps an idle client from earning an unlimited rate. At least 1.
  double growth_limit = 2;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const RateLimiterOptions& options);

// Snapshot of a limiter, for logs and tests. Rates are in polls per second,
// capacities in polls, times in seconds.
struct RateLimiterState {
  bool limiting = false;     // Whether the server has ever throttled.
  double measured_rate = 0;  // Smoothed rate of finished polls.
  double fill_rate = 0;      // Rate at which polls may pass now.
  double capacity = 0;       // Polls that may pass together, at the last call.
  double max_capacity = 0;   // Upper limit of `capacity`.
  double last_max_rate = 0;  // w of the formula.
  double time_window = 0;    // k of the formula.
};

// A limit on the poll rate of the waits that share it: a wait calls `Acquire`
// before each poll and `Update` after it. If one call polls many keys,
// `BatchOptions::rate_limiter` counts calls instead. Code that polls without a
// wait may use a limiter directly:
//
//   waiter::MonotonicTime start;
//   while ((start = (*limiter)->Acquire(now)) > now) {
//     // Sleep until `start` and read `now` again.
//   }
//   (*limiter)->Update(now, status);  // The status that the poll found.
//
// Implementations must be thread-safe, and must neither throw nor block, which
// would hold up all waits of an engine. All calls take `now` from the clock of
// the waits; readings on different threads need not be in order.
class RateLimiter {
 public:
  virtual ~RateLimiter() = default;

  // Admits one poll and returns `now`, or admits none and returns a later time
  // at which to call again. The rate may change in between, so call again after
  // each sleep until this returns `now`. A caller that gives up has nothing to
  // undo.
  virtual MonotonicTime Acquire(MonotonicTime now) = 0;

  // Counts a poll that ended at `now` and found `status`.
  virtual void Update(MonotonicTime now, PollStatus status) = 0;

  // Returns how many polls per second may pass now, or nullopt if unlimited.
  virtual std::optional<double> Rate() const = 0;

  // Returns a limiter with the same options that shares nothing with this one,
  // for simulations.
  virtual std::shared_ptr<RateLimiter> MakeAlike() const = 0;
};

// Learns how many polls per second a server can bear, by the formula at
// `RateLimiterOptions`. Does not delay polls until the server first throttles.
//
// Never reads a clock or sleeps, so a slow caller does not delay others. Time
// is measured from the first call.
//
// Until the server throttles, `Acquire(now)` costs one atomic read. All other
// calls briefly take a lock.
class AdaptiveRateLimiter final : public RateLimiter {
 public:
  // Returns a limiter that does not delay polls yet, or `Validate`'s error.
  static absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>> Make(
      const RateLimiterOptions& options);

  // Returns a limiter that limits from `now` on, at `rate` polls per second as
  // if the server had just throttled, and adapts from there. `rate` must be
  // finite, and zero or more.
  static absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>> MakeLimiting(
      const RateLimiterOptions& options, double rate, MonotonicTime now);

  MonotonicTime Acquire(MonotonicTime now) override;

  // Acquires for `cost` polls together. Returns an error if they could never
  // pass: kInvalidArgument if `cost` is negative or not finite,
  // kResourceExhausted if it is above the current `max_capacity`.
  absl::StatusOr<MonotonicTime> Acquire(MonotonicTime now, double cost);

  // Counts a poll that ended at `now`, and adapts the rate: down if `status` is
  // `kThrottled`, otherwise up. Call it after every poll, because the limiter
  // measures the rate from these calls.
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

  // Written under `mutex_`. Also read without it, because most limiters never
  // limit.
  std::atomic<Phase> phase_ = Phase::kUnused;
  // Constant once `phase_` is not kUnused.
  MonotonicTime start_{};

  // Changes only when the server throttles.
  internal::CubicRate cubic_ ABSL_GUARDED_BY(mutex_);

  // Shares a cache line with the members that `Acquire` writes, not with the
  // ones it reads unlocked.
  ABSL_CACHELINE_ALIGNED mutable internal::Mutex mutex_;
  internal::RateBucket bucket_ ABSL_GUARDED_BY(mutex_);
  internal::RateMeter meter_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_BUDGETS_H_
