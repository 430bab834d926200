// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/seconds.h"
#include "waiter/text.h"

namespace waiter {
namespace {

using internal::InvalidOption;

// With less, a quota with refill would refuse nothing: some comes back between
// any two polls.
constexpr double kLeastRest = 1;

double Seconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) /
         internal::kNanosecondsPerSecond;
}

}  // namespace

absl::Status Validate(const RetryQuotaOptions& options) {
  const bool waits = options.when_spent == RetryQuotaOptions::WhenSpent::kWait;
  struct Amount {
    std::string_view field;
    double value;
  };
  const auto amounts = std::to_array<Amount>({
      {"capacity", options.capacity},
      {"initial_cost", options.initial_cost},
      {"success_increment", options.success_increment},
      {"retry_cost", options.retry_cost},
      {"timeout_cost", options.timeout_cost},
      {"throttle_cost", options.throttle_cost},
      {"refill_per_second", options.refill_per_second},
  });
  for (const auto& [field, value] : amounts) {
    // The condition is written so that NaN fails it.
    if (!(value >= 0 && std::isfinite(value))) {
      return InvalidOption(field, value, "finite, and zero or more");
    }
  }
  if (options.initial_cost > options.capacity) {
    return InvalidOption("initial_cost", options.initial_cost,
                         absl::StrCat("at most capacity, ", options.capacity,
                                      ", for waits to start"));
  }
  if (!waits) return absl::OkStatus();
  if (options.refill_per_second == 0) {
    return InvalidOption(
        "refill_per_second", options.refill_per_second,
        "above zero with when_spent kWait, which waits for refill");
  }
  for (const auto& [field, value] : amounts) {
    if (field.ends_with("_cost") && value > options.capacity) {
      return InvalidOption(field, value,
                           absl::StrCat("at most capacity, ", options.capacity,
                                        ", with when_spent kWait"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<RetryQuota>> RetryQuota::Make(
    const RetryQuotaOptions& options, QuotaLowMark low_mark) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return std::shared_ptr<RetryQuota>(
      absl::WrapUnique(new RetryQuota(options, std::move(low_mark))));
}

RetryQuota::RetryQuota(const RetryQuotaOptions& options, QuotaLowMark low_mark)
    : options_(options),
      low_mark_(std::move(low_mark)),
      costs_{options.initial_cost, options.retry_cost, options.timeout_cost,
             options.throttle_cost, 0},
      refill_per_nanosecond_(options.refill_per_second /
                             internal::kNanosecondsPerSecond),
      level_(options.capacity),
      tokens_(options.capacity) {}

std::optional<MonotonicTime> RetryQuota::Acquire(QuotaUse use,
                                                 MonotonicTime now,
                                                 QuotaToken& token) {
  const double cost = costs_[static_cast<uint8_t>(use)];
  // The optional is engaged this early because g++ returns it by reading it
  // back from memory. Right after a write to a part of it, that read costs as
  // much as an atomic operation.
  std::optional<MonotonicTime> start = now;
  switch (options_.compatible ? TakeCompatibly(cost, *start)
                              : Take(cost, *start)) {
    case Taken::kAll:
      token.use_ = static_cast<uint8_t>(use);
      break;
    case Taken::kRest:
      token = {};
      break;
    case Taken::kNothing:
      start.reset();
      break;
  }
  if (low_mark_.on_low != nullptr && cost > 0 &&
      (!start.has_value() || Available(now) < low_mark_.level)) {
    low_mark_.on_low();
  }
  return start;
}

void RetryQuota::Release(MonotonicTime now, QuotaToken& token) {
  const bool is_first =
      token.use_ == static_cast<uint8_t>(QuotaUse::kFirstPoll);
  Add(is_first ? options_.success_increment : costs_[token.use_], now);
  token = {};
}

void RetryQuota::Refund(MonotonicTime now, QuotaToken& token) {
  Add(costs_[token.use_], now);
  token = {};
}

void RetryQuota::Deposit(double tokens, MonotonicTime now) { Add(tokens, now); }

double RetryQuota::Withdraw(double most, MonotonicTime now) {
  if (options_.compatible) {
    const internal::MutexLock lock(mutex_);
    tokens_ = TokensCompatibly(now);
    mark_ = std::max(mark_, now);
    const double taken = std::min(tokens_, most);
    tokens_ -= taken;
    return taken;
  }
  const double refilled = Refilled(now);
  double level = level_.load(std::memory_order_relaxed);
  double taken;
  double left;
  do {
    left = std::min(options_.capacity, level + refilled);
    taken = std::clamp(left, 0.0, most);
    if (taken == 0) return 0;
    left -= taken;
  } while (!level_.compare_exchange_weak(level, left - refilled,
                                         std::memory_order_relaxed));
  return taken;
}

double RetryQuota::Refilled(MonotonicTime now) const {
  return refill_per_nanosecond_ *
         static_cast<double>(
             std::chrono::nanoseconds{now.time_since_epoch()}.count());
}

double RetryQuota::Available(MonotonicTime now) const {
  if (!options_.compatible) {
    return std::min(options_.capacity, level_.load() + Refilled(now));
  }
  const internal::MutexLock lock(mutex_);
  return TokensCompatibly(now);
}

RetryQuota::Taken RetryQuota::Take(double cost, MonotonicTime& time) {
  using WhenSpent = RetryQuotaOptions::WhenSpent;
  if (cost == 0) return Taken::kAll;
  const double refilled = Refilled(time);
  // A shortfall worth less than a nanosecond of refill is a rounding error.
  const double tolerance = refill_per_nanosecond_;
  double level = level_.load(std::memory_order_relaxed);
  double left;
  Taken taken;
  do {
    taken = Taken::kAll;
    left = std::min(options_.capacity, level + refilled) - cost;
    if (left < -tolerance && options_.when_spent != WhenSpent::kWait) {
      if (options_.when_spent == WhenSpent::kRefuse ||
          left + cost < kLeastRest) {
        return Taken::kNothing;
      }
      left = 0;
      taken = Taken::kRest;
    }
  } while (!level_.compare_exchange_weak(level, left - refilled,
                                         std::memory_order_relaxed));
  if (left < -tolerance) {
    time = internal::SecondsAfter(time, -left / options_.refill_per_second);
  }
  return taken;
}

void RetryQuota::Add(double tokens, MonotonicTime now) {
  if (tokens == 0) return;
  if (options_.compatible) {
    const internal::MutexLock lock(mutex_);
    tokens_ = std::min(options_.capacity, TokensCompatibly(now) + tokens);
    mark_ = std::max(mark_, now);
    return;
  }
  // The level may exceed the capacity here; `Take` and `Available` clamp it.
  // libc++ before 18 cannot add to an atomic double.
  double level = level_.load(std::memory_order_relaxed);
  while (!level_.compare_exchange_weak(level, level + tokens,
                                       std::memory_order_relaxed)) {
  }
}

double RetryQuota::TokensCompatibly(MonotonicTime now) const {
  // The original sleeps with its lock held, so that a later caller gets its
  // turn only at the end of that sleep.
  if (now <= mark_) return tokens_;
  return std::min(
      options_.capacity,
      tokens_ + std::floor(options_.refill_per_second * Seconds(now - mark_)));
}

RetryQuota::Taken RetryQuota::TakeCompatibly(double cost, MonotonicTime& time) {
  using WhenSpent = RetryQuotaOptions::WhenSpent;
  const internal::MutexLock lock(mutex_);
  tokens_ = TokensCompatibly(time);
  const double shortfall = cost - tokens_;
  const bool takes_rest = shortfall > 0 && tokens_ >= kLeastRest &&
                          options_.when_spent == WhenSpent::kTakeRest;
  if (shortfall > 0 && !takes_rest && options_.when_spent != WhenSpent::kWait) {
    return Taken::kNothing;
  }
  time = std::max(mark_, time);
  if (shortfall > 0 && !takes_rest) {
    time = internal::SecondsAfter(
        time, std::ceil(shortfall / options_.refill_per_second));
  }
  tokens_ = std::max(tokens_ - cost, 0.0);
  mark_ = time;
  return takes_rest ? Taken::kRest : Taken::kAll;
}

}  // namespace waiter
