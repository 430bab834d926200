// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A retry quota (retry_quota.h) whose tokens many processes share, so that all
// of them together cannot overload a server that already fails:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5");
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisBudgetStore>(*client);
//   auto shared = waiter::SharedRetryQuota::Make(
//       store, {.name = "ec2", .quota = {.capacity = 5000}});
//   if (!shared.ok()) return shared.status();
//   options.retry_quota = (*shared)->quota();  // In the options of many waits.
//
// Each process has some of the tokens on lease, in an ordinary `RetryQuota`. In
// the background it reports what it spent, and gets more or gives some back, so
// that all have about the same and a part is left for those that come. A
// process that dies returns its tokens by the end of its lease.
//
// The quota refuses when this process has none left. A capacity below a few
// `min_chunk` per process leaves some without tokens.

#ifndef WAITER_DISTRIBUTED_SHARED_RETRY_QUOTA_H_
#define WAITER_DISTRIBUTED_SHARED_RETRY_QUOTA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/distributed/budget_store.h"
#include "waiter/distributed/shared_rate_limiter_options.h"
#include "waiter/retry_quota.h"

namespace waiter {

// A value. All members of one budget must have the same.
struct SharedRetryQuotaOptions {
  // As `SharedRateLimiterOptions::name`; rates and quotas have names of their
  // own.
  std::string name;

  // For all members together. `when_spent` must not be kWait, `compatible` must
  // be false, and `capacity` must be within [1, 1000000000].
  RetryQuotaOptions quota = {};

  // Time after which the tokens of a process that is gone come back. Within
  // [5s, 10min].
  absl::Duration lease = absl::Seconds(10);

  // Least number of tokens that a member gets at a time, and with which it
  // starts. Within [0, capacity]. Unset: twice the highest cost, at most the
  // capacity.
  std::optional<double> min_chunk = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const SharedRetryQuotaOptions& options);

// Snapshot of a quota, for metrics, logs and tests.
struct SharedRetryQuotaState {
  SharedBudgetMode mode = SharedBudgetMode::kStarting;
  int64_t members = 1;   // By the last answer of the store.
  double available = 0;  // Tokens of this process.
  // Unset: the store never answered.
  std::optional<absl::Duration> last_sync_age;
  // Why the last request failed; OK if it did not.
  absl::Status last_error;
};

// Thread-safe.
class SharedRetryQuota : public std::enable_shared_from_this<SharedRetryQuota> {
 public:
  // Returns a quota that asks `store`, or the error of `Validate`. Does not
  // wait for the store: the quota has `min_chunk` tokens until its first
  // answer.
  static absl::StatusOr<std::shared_ptr<SharedRetryQuota>> Make(
      std::shared_ptr<BudgetStore> store, SharedRetryQuotaOptions options);

  // Returns the tokens of this process to the store. Does not block.
  ~SharedRetryQuota();

  SharedRetryQuota(const SharedRetryQuota&) = delete;
  SharedRetryQuota& operator=(const SharedRetryQuota&) = delete;

  // Returns the quota for `WaitOptions`. As long as somebody has it, this
  // exists.
  std::shared_ptr<RetryQuota> quota();

  SharedRetryQuotaState State() const;

  const SharedRetryQuotaOptions& options() const { return options_; }

 private:
  class Member;

  SharedRetryQuota(std::shared_ptr<BudgetStore> store,
                   SharedRetryQuotaOptions options);

  const SharedRetryQuotaOptions options_;
  // Shared with callbacks of the store, which may come later.
  const std::shared_ptr<Member> member_;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_SHARED_RETRY_QUOTA_H_
