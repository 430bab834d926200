// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/poll.h"
#include "waiter/seconds.h"
#include "waiter/text.h"

namespace waiter {
namespace {

using internal::InvalidOption;

constexpr double kNanosecond = 1e-9;

}  // namespace

absl::Status Validate(const RateLimiterOptions& options) {
  // Each condition is written so that NaN fails it.
  if (!(options.beta > 0 && options.beta < 1)) {
    return InvalidOption("beta", options.beta, "within (0, 1)");
  }
  if (!(options.smoothing > 0 && options.smoothing <= 1)) {
    return InvalidOption("smoothing", options.smoothing, "within (0, 1]");
  }
  if (!(options.scale_constant > 0 && std::isfinite(options.scale_constant))) {
    return InvalidOption("scale_constant", options.scale_constant,
                         "finite, and above zero");
  }
  if (!(options.min_fill_rate > 0 && std::isfinite(options.min_fill_rate))) {
    return InvalidOption("min_fill_rate", options.min_fill_rate,
                         "finite, and above zero");
  }
  if (!(options.min_capacity >= 1 && std::isfinite(options.min_capacity))) {
    return InvalidOption("min_capacity", options.min_capacity,
                         "finite, and at least 1, or no poll could pass");
  }
  if (!(options.measurement_bucket > absl::ZeroDuration() &&
        options.measurement_bucket < absl::InfiniteDuration())) {
    return InvalidOption("measurement_bucket",
                         absl::FormatDuration(options.measurement_bucket),
                         "finite, and above zero");
  }
  if (!(options.growth_limit >= 1 && std::isfinite(options.growth_limit))) {
    return InvalidOption("growth_limit", options.growth_limit,
                         "finite, and at least 1");
  }
  return absl::OkStatus();
}

namespace internal {

RateMeter::RateMeter(const RateLimiterOptions& options, double rate)
    : bucket_(absl::ToDoubleSeconds(options.measurement_bucket)),
      smoothing_(options.smoothing),
      rate_(rate) {}

double RateMeter::Measure(double time) {
  ++count_;
  if (time - bucket_start_ < bucket_) return rate_;
  const double buckets = std::floor((time - bucket_start_) / bucket_);
  const double rate = static_cast<double>(count_) / (buckets * bucket_);
  rate_ = smoothing_ * rate + (1 - smoothing_) * rate_;
  bucket_start_ += buckets * bucket_;
  count_ = 0;
  return rate_;
}

CubicRate::CubicRate(const RateLimiterOptions& options)
    : beta_(options.beta), scale_constant_(options.scale_constant) {}

double CubicRate::Throttle(double rate, double time) {
  last_max_rate_ = rate;
  last_throttle_ = time;
  time_window_ = std::cbrt(rate * (1 - beta_) / scale_constant_);
  return rate * beta_;
}

double CubicRate::Grow(double time) const {
  const double t = time - last_throttle_ - time_window_;
  return scale_constant_ * (t * t * t) + last_max_rate_;
}

RateBucket::RateBucket(const RateLimiterOptions& options)
    : min_fill_rate_(options.min_fill_rate),
      min_capacity_(options.min_capacity) {}

double RateBucket::Acquire(double cost, double time) {
  Refill(time);
  const double shortfall = cost - capacity_;
  // A shortfall worth less than a nanosecond of refill is a rounding error; a
  // sleep for it would spin.
  if (shortfall < fill_rate_ * kNanosecond) {
    capacity_ -= cost;
    return 0;
  }
  return shortfall / fill_rate_;
}

void RateBucket::SetRate(double rate, double time) {
  Refill(time);
  fill_rate_ = std::max(rate, min_fill_rate_);
  max_capacity_ = std::max(rate, min_capacity_);
  capacity_ = std::min(capacity_, max_capacity_);
}

void RateBucket::Refill(double time) {
  if (time <= last_refill_) return;
  if (last_refill_ >= 0) {
    capacity_ =
        std::min(max_capacity_, capacity_ + (time - last_refill_) * fill_rate_);
  }
  last_refill_ = time;
}

}  // namespace internal

absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>> AdaptiveRateLimiter::Make(
    const RateLimiterOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return std::shared_ptr<AdaptiveRateLimiter>(
      absl::WrapUnique(new AdaptiveRateLimiter(options)));
}

absl::StatusOr<std::shared_ptr<AdaptiveRateLimiter>>
AdaptiveRateLimiter::MakeLimiting(const RateLimiterOptions& options,
                                  double rate, MonotonicTime now) {
  absl::Status status = Validate(options);
  if (status.ok() && !(rate >= 0 && std::isfinite(rate))) {
    status = InvalidOption("rate", rate, "finite, and zero or more");
  }
  if (!status.ok()) return status;
  std::shared_ptr<AdaptiveRateLimiter> limiter =
      absl::WrapUnique(new AdaptiveRateLimiter(options, rate));
  const internal::MutexLock lock(limiter->mutex_);
  limiter->start_ = now;
  limiter->bucket_.SetRate(limiter->cubic_.Throttle(rate / options.beta, 0), 0);
  limiter->phase_.store(Phase::kLimiting, std::memory_order_release);
  return limiter;
}

AdaptiveRateLimiter::AdaptiveRateLimiter(const RateLimiterOptions& options,
                                         double rate)
    : options_(options),
      cubic_(options),
      bucket_(options),
      meter_(options, rate) {}

MonotonicTime AdaptiveRateLimiter::Acquire(MonotonicTime now) {
  const Phase phase = phase_.load(std::memory_order_acquire);
  if (phase == Phase::kMeasuring) return now;
  const double time = Elapsed(now);
  if (phase == Phase::kUnused) return now;
  double wait;
  {
    const internal::MutexLock lock(mutex_);
    wait = bucket_.Acquire(1, time);
  }
  return wait == 0 ? now : internal::SecondsAfter(now, wait);
}

absl::StatusOr<MonotonicTime> AdaptiveRateLimiter::Acquire(MonotonicTime now,
                                                           double cost) {
  if (!(cost >= 0 && std::isfinite(cost))) {
    return InvalidOption("cost", cost, "finite, and zero or more");
  }
  const double time = Elapsed(now);
  const internal::MutexLock lock(mutex_);
  if (phase_.load(std::memory_order_relaxed) != Phase::kLimiting) return now;
  if (cost > bucket_.max_capacity()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cost is ", cost, "; the rate limiter allows at most ",
                     bucket_.max_capacity(), " at a time"));
  }
  const double wait = bucket_.Acquire(cost, time);
  return wait == 0 ? now : internal::SecondsAfter(now, wait);
}

void AdaptiveRateLimiter::Update(MonotonicTime now, PollStatus status) {
  const double time = Elapsed(now);
  const internal::MutexLock lock(mutex_);
  const double measured = meter_.Measure(time);
  double rate;
  if (status == PollStatus::kThrottled) {
    const bool limiting =
        phase_.load(std::memory_order_relaxed) == Phase::kLimiting;
    rate = cubic_.Throttle(
        limiting ? std::min(measured, bucket_.fill_rate()) : measured, time);
    phase_.store(Phase::kLimiting, std::memory_order_release);
  } else {
    rate = cubic_.Grow(time);
  }
  bucket_.SetRate(std::min(rate, options_.growth_limit * measured), time);
}

std::optional<double> AdaptiveRateLimiter::Rate() const {
  const RateLimiterState state = State();
  if (!state.limiting) return std::nullopt;
  return state.fill_rate;
}

std::shared_ptr<RateLimiter> AdaptiveRateLimiter::MakeAlike() const {
  return absl::WrapUnique(new AdaptiveRateLimiter(options_));
}

RateLimiterState AdaptiveRateLimiter::State() const {
  const internal::MutexLock lock(mutex_);
  return {
      .limiting = phase_.load(std::memory_order_relaxed) == Phase::kLimiting,
      .measured_rate = meter_.rate(),
      .fill_rate = bucket_.fill_rate(),
      .capacity = bucket_.capacity(),
      .max_capacity = bucket_.max_capacity(),
      .last_max_rate = cubic_.last_max_rate(),
      .time_window = cubic_.time_window()};
}

double AdaptiveRateLimiter::Elapsed(MonotonicTime now) {
  if (phase_.load(std::memory_order_acquire) == Phase::kUnused) {
    const internal::MutexLock lock(mutex_);
    if (phase_.load(std::memory_order_relaxed) == Phase::kUnused) {
      start_ = now;
      phase_.store(Phase::kMeasuring, std::memory_order_release);
    }
  }
  return std::max(
      0.0, static_cast<double>(std::chrono::nanoseconds{now - start_}.count()) /
               internal::kNanosecondsPerSecond);
}

}  // namespace waiter
