// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A token bucket shared by many waits, so that together they cannot drown a
// server that is failing already:
//
//   auto quota = waiter::RetryQuota::Make({.capacity = 500});
//   if (!quota.ok()) return quota.status();
//
// Each poll after a failure costs tokens; a success gives back what the last
// poll of its wait had cost, and everything else only time gives back, at
// `refill_per_second`, as in the AWS SDKs. A driver, or `WaitLoop` for it:
//
//   waiter::QuotaToken token;  // One byte per wait.
//   std::optional<waiter::MonotonicTime> start =
//       (*quota)->Acquire(waiter::QuotaUse::kRetry, now, token);
//   // None: end the wait. Later than `now`: sleep until then, and poll.
//   (*quota)->Release(now, token);  // If the poll has found success.

#ifndef WAITER_RETRY_QUOTA_H_
#define WAITER_RETRY_QUOTA_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"

namespace waiter {

// What a poll is made for, which decides its cost.
enum class QuotaUse : uint8_t {
  kFirstPoll,  // `initial_cost`; a success gives back `success_increment`.
  kRetry,      // `retry_cost`: after an error of the server or the client.
  kTimeout,    // `timeout_cost`: after a timeout or a lost connection.
  kThrottled,  // `throttle_cost`: after a throttled answer.
};

// Amounts are in tokens, may have fractions, and are finite and zero or more.
// The defaults are those of the AWS SDKs since 2026. Before, `retry_cost` was
// 5, and the other two 10.
struct RetryQuotaOptions {
  enum class WhenSpent : uint8_t {
    kRefuse,  // `Acquire` returns nothing.
    kWait,    // `Acquire` returns when refill will have paid, first come first
              // served. Needs refill, and no cost above the capacity.
  };

  // Most tokens there can be, and how many there are at first.
  double capacity = 500;

  double initial_cost = 0;  // At most `capacity`.
  double success_increment = 1;
  double retry_cost = 14;
  double timeout_cost = 14;
  double throttle_cost = 5;

  double refill_per_second = 0;

  WhenSpent when_spent = WhenSpent::kRefuse;

  // Copies what the AWS SDK for Kotlin does with time, instead of the exact
  // account: (a) refill is rounded down to whole tokens and its fraction is
  // lost with every operation but a refusal, which (b) is followed by the same
  // refill once more; (c) a wait takes whole seconds, what is refilled beyond
  // its cost is lost, and all others queue behind it, also for what is free.
  // Without refill there is no difference.
  bool compatible = false;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const RetryQuotaOptions& options);

// What a wait remembers of its last `Acquire`: 1 byte. Thread-compatible.
class QuotaToken {
 private:
  friend class RetryQuota;
  static constexpr uint8_t kNothing = 4;
  uint8_t use_ = kNothing;  // Or a `QuotaUse`.
};

// Thread-safe. Reads no clock and never sleeps: `now` may come from any one
// clock, and from threads whose readings cross. Lock-free, unless `compatible`.
// The account is exact to a nanosecond's worth of refill for 100 days of
// `now`, and without refill for ever.
class RetryQuota {
 public:
  // Returns a full quota, or the error of `Validate`.
  static absl::StatusOr<std::shared_ptr<RetryQuota>> Make(
      const RetryQuotaOptions& options);

  // Takes what `use` costs and returns when the poll may start: `now`, or
  // later with `kWait`; a poll that costs nothing never waits. The tokens are
  // taken at once, and the caller may sleep holding nothing. Returns nothing,
  // takes nothing and leaves `token` alone if refused. Else `token` forgets
  // what it stood for: only the last cost comes back. A wait that fails just
  // drops it.
  std::optional<MonotonicTime> Acquire(QuotaUse use, MonotonicTime now,
                                       QuotaToken& token);

  // Gives back what `token` stands for, up to the capacity, as its wait has
  // succeeded. Does nothing the second time.
  void Release(MonotonicTime now, QuotaToken& token);

  // Gives back all that the last `Acquire` of `token` took, up to the capacity,
  // as its poll will not start. Those who wait already keep their times; who
  // comes next waits less. Does nothing the second time, or after `Release`.
  void Refund(MonotonicTime now, QuotaToken& token);

  // Returns the tokens at `now`; below zero is what those who wait still owe.
  double Available(MonotonicTime now) const;

  const RetryQuotaOptions& options() const { return options_; }

 private:
  explicit RetryQuota(const RetryQuotaOptions& options);

  double Refilled(MonotonicTime now) const;
  // Both return false if refused, or else move `time` from now to the start.
  bool Take(double cost, MonotonicTime& time);
  bool TakeCompatibly(double cost, MonotonicTime& time);
  void Add(double tokens, MonotonicTime now);
  // Requires `mutex_`.
  double TokensCompatibly(MonotonicTime now) const;

  const RetryQuotaOptions options_;
  // By `QuotaUse`; the last, of no use, is zero.
  const std::array<double, QuotaToken::kNothing + 1> costs_;
  const double refill_per_nanosecond_;

  // The tokens at `now` are min(capacity, level_ + Refilled(now)): one number,
  // which time does not change. What is only read is on other cache lines.
  ABSL_CACHELINE_ALIGNED std::atomic<double> level_;

  // For `compatible` alone, guarded by `mutex_`: the tokens at `mark_`, which
  // is the end of the last wait if that is still to come.
  mutable std::mutex mutex_;
  double tokens_;
  MonotonicTime mark_{};
};

}  // namespace waiter

#endif  // WAITER_RETRY_QUOTA_H_
