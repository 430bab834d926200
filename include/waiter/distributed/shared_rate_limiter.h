// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A rate limit that many processes keep together, with a store between them:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5");
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisBudgetStore>(*client);
//   auto limiter = waiter::SharedRateLimiter::Make(
//       store, {.name = "ec2.describe", .rate = 20, .burst = 100});
//   if (!limiter.ok()) return limiter.status();
//   options.rate_limiter = *limiter;  // In the options of many waits.
//
// Without `rate`, the members find the rate that the server bears, as an
// `AdaptiveRateLimiter` does for one process.
//
// The store grants slots, points in time at which one poll may pass. A member
// asks for them ahead of time, in the background, so a poll never waits for the
// network. Members that want more than there is get equal parts; what one does
// not want, the others get.
//
// If the store is away for 2 seconds, each process goes on with its part of the
// last rate, and shares again as soon as the store is back. docs/distributed.md
// has the bounds.

#ifndef WAITER_DISTRIBUTED_SHARED_RATE_LIMITER_H_
#define WAITER_DISTRIBUTED_SHARED_RATE_LIMITER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/distributed/budget_store.h"
#include "waiter/distributed/shared_rate_limiter_options.h"
#include "waiter/poll_status.h"
#include "waiter/rate_limiter.h"

namespace waiter {

// Snapshot of a limiter, for metrics, logs and tests.
struct SharedRateLimiterState {
  SharedBudgetMode mode = SharedBudgetMode::kStarting;

  // Polls per second that may pass: of all members or, in the mode kLocal, of
  // this process. Unset: any number, as nobody was throttled yet.
  std::optional<double> rate;

  // Processes that use the budget, by the last answer of the store.
  int64_t members = 1;

  // Unset: the store never answered.
  std::optional<absl::Duration> last_sync_age;
  // Why the last request failed; OK if it did not.
  absl::Status last_error;

  int64_t granted = 0;  // Slots so far.
  int64_t unused = 0;   // Those of them that passed without a poll.
};

// A member of a shared limit. A process should have one for each budget, which
// all of its waits share.
class SharedRateLimiter final : public RateLimiter {
 public:
  // Returns a limiter that asks `store`, or the error of `Validate`. Does not
  // wait for the store: polls wait for its first answer, or for up to 3 s if
  // there is none. All waits must use the clock of the store.
  static absl::StatusOr<std::shared_ptr<SharedRateLimiter>> Make(
      std::shared_ptr<BudgetStore> store, SharedRateLimiterOptions options);

  // Leaves the budget. Does not block.
  ~SharedRateLimiter() override;

  SharedRateLimiter(const SharedRateLimiter&) = delete;
  SharedRateLimiter& operator=(const SharedRateLimiter&) = delete;

  // Costs some 50 ns, whether it returns `now` or a later time. A few times in
  // a second it also hands a request to the store, which takes microseconds.
  MonotonicTime Acquire(MonotonicTime now) override;

  void Update(MonotonicTime now, PollStatus status) override;

  std::optional<double> Rate() const override;

  // Returns a limiter of one process with the same rate.
  std::shared_ptr<RateLimiter> MakeAlike() const override;

  SharedRateLimiterState State() const;

  const SharedRateLimiterOptions& options() const { return options_; }

 private:
  class Member;

  SharedRateLimiter(std::shared_ptr<BudgetStore> store,
                    SharedRateLimiterOptions options);

  const SharedRateLimiterOptions options_;
  // Shared with callbacks of the store, which may come later.
  const std::shared_ptr<Member> member_;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_SHARED_RATE_LIMITER_H_
