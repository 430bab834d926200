// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Budgets that many processes share through a store on Redis or Valkey: a rate
// limit (`SharedRateLimiter`) and a retry quota (`SharedRetryQuota`).
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5");
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisBudgetStore>(*client);
//
//   auto limiter = waiter::SharedRateLimiter::Make(
//       store, {.name = "ec2.describe", .rate = 20, .burst = 100});
//   if (!limiter.ok()) return limiter.status();
//   options.budgets.rate_limiter = *limiter;  // In the options of many waits.
//
//   auto shared = waiter::SharedRetryQuota::Make(
//       store, {.name = "ec2", .quota = {.capacity = 5000}});
//   if (!shared.ok()) return shared.status();
//   options.budgets.retry_quota = (*shared)->quota();
//
// `ListBudgets` shows the budgets of a server. `BudgetStore`, with its requests
// and grants, is for other stores and for tests, which can put all processes
// and the store into one simulation. docs/distributed.md lists the bounds of
// both budgets.

#ifndef WAITER_REDIS_SHARED_BUDGETS_H_
#define WAITER_REDIS_SHARED_BUDGETS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/version.h"

namespace waiter {

// Options of a `SharedRateLimiter`, equal for all members of a budget. The
// limit in the example above is 20 polls per second. After a pause, 100 polls
// may pass together.
struct SharedRateLimiterOptions {
  // Name of the budget in the store: 1 to 64 of the characters A-Z, a-z, 0-9,
  // `_`, `.` and `-`.
  std::string name;

  // Polls per second of all members together, within [0.001, 1000000]. Unset:
  // adaptive, a rate that all members find together. Every poll passes until
  // the server throttles one.
  std::optional<double> rate = std::nullopt;

  // Polls that may pass together after a pause, within [1, 1000000].
  double burst = 1;

  // Parameters of an adaptive rate; `min_fill_rate` must be within [0.001,
  // 1000000]. `min_capacity` applies to one process while the store is
  // unreachable.
  RateLimiterOptions adaptive = {};

  // How far ahead slots are granted, and how long an unused slot stays valid.
  // Counts as two intervals if that is longer. Within [50ms, 10s]. A longer
  // horizon needs fewer calls to the store, but wastes more slots of members
  // that become idle.
  Duration horizon = absl::Milliseconds(500);

  // Share of `rate` that one process uses until it first reaches the store.
  // Within [0, 1]; with zero, no poll passes until then.
  double local_share = 1;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const SharedRateLimiterOptions& options);

// How a shared budget uses its store.
enum class SharedBudgetMode : uint8_t {
  kStarting,  // Still waiting for the store's first answer.
  kShared,    // The store grants slots or tokens.
  kLocal,     // The store is unreachable: each process uses its share.
};

// Returns "starting", "shared" or "local".
std::string_view ToString(SharedBudgetMode mode);

// One member of a budget, which is one limiter or quota in one process. `id` is
// unique among all members, past ones included.
struct BudgetMember {
  std::string budget = {};  // Name of the budget.
  std::string id = {};
  bool leaves = false;  // The last request of the member.
};

// A member of a rate limit asks for slots (times at which one poll may pass)
// and reports its polls since its last request. Times in requests and grants
// are durations, because each process has its own clock, and only the store's
// counts.
struct RateRequest {
  BudgetMember member = {};
  int64_t want = 0;  // Slots beyond the current ones.
  int64_t polls = 0;
  bool throttled = false;  // One of the polls was throttled.

  // The budget's limit in polls per second; unset: adaptive.
  std::optional<double> rate = std::nullopt;
  double burst = 1;
  std::chrono::nanoseconds horizon{};  // Counts as two intervals if shorter.
  RateLimiterOptions adaptive = {};
};

// The slots that a member got: `first_in`, `first_in + interval` and so on
// after the answer. The first may have passed already. `granted` counts as at
// most 1000000, `first_in` and `interval` as at most an hour.
struct RateGrant {
  int64_t granted = 0;
  std::chrono::nanoseconds first_in{};
  std::chrono::nanoseconds interval{};

  // The whole budget's limit; unset until a poll is throttled.
  std::optional<double> rate = std::nullopt;
  int64_t members = 1;
  // Time after which to ask again; counts as at least 5 ms and at most 5 s.
  std::chrono::nanoseconds ask_again{};
};

// A member of a quota reports the tokens that it has, and gets or returns some.
struct QuotaRequest {
  BudgetMember member = {};
  // Tokens now, and tokens spent since the last answer. Negative numbers are
  // tokens owed, and tokens that successes returned.
  double has = 0;
  double spent = 0;
  // Tokens spent since the member began. If an answer was lost, its request
  // already counted part of `spent`; so a store that knows the member uses the
  // difference from the last request it got.
  double spent_in_all = 0;

  // The options of the budget.
  double capacity = 0;
  double refill_per_second = 0;
  double min_chunk = 0;
  std::chrono::nanoseconds lease{};
};

struct QuotaGrant {
  // Tokens to add, or, if negative, to give back.
  double change = 0;
  // By the store's account: tokens that this member now has (the request's
  // `has` plus `change`), and tokens that no member has.
  double held = 0;
  double level = 0;
  int64_t members = 1;
};

// Keeps the account of all shared budgets. Thread-safe. Requests never block,
// and each is answered exactly once, even if the store is unreachable or is
// destroyed. Callbacks and timers run one at a time, without a lock, and never
// inside the function that takes them; they must return soon, and may own the
// store and destroy it.
class BudgetStore {
 public:
  using RateCallback = std::function<void(absl::StatusOr<RateGrant>)>;
  using QuotaCallback = std::function<void(absl::StatusOr<QuotaGrant>)>;

  virtual ~BudgetStore() = default;

  // The error kUnavailable means that the outcome is not known. All other
  // errors mean that the request had no effect.
  virtual void Grant(RateRequest request, RateCallback callback) = 0;
  virtual void Sync(QuotaRequest request, QuotaCallback callback) = 0;

  // Calls `timer` once, at `time` or soon after, unless this is destroyed
  // first.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of the timers, which the waits must also use.
  virtual Clock& clock() = 0;
};

// Snapshot of a limiter, for metrics, logs and tests.
struct SharedRateLimiterState {
  SharedBudgetMode mode = SharedBudgetMode::kStarting;

  // Polls per second that may pass: of all members or, in the mode kLocal, of
  // this process. Unset: unlimited, as no poll was throttled yet.
  std::optional<double> rate;

  // Processes that use the budget, according to the store's last answer.
  int64_t members = 1;

  // Time since the last answer; unset: the store never answered.
  std::optional<absl::Duration> last_sync_age;
  // Why the last request failed; OK if it did not.
  absl::Status last_error;

  int64_t granted = 0;  // Slots so far.
  int64_t unused = 0;   // Granted slots that passed without a poll.
};

// A member of a rate limit that many processes share. A process should have one
// member for each budget, shared by all of its waits. Without `rate`, the
// members find the rate that the server sustains, as an `AdaptiveRateLimiter`
// does for one process.
//
// The store grants slots, points in time at which one poll may pass. A member
// asks for them ahead of time, in the background, so a poll never waits for the
// network. If members want more slots than there are, they get equal shares;
// what one does not want goes to the others.
//
// If the store is unreachable for 2 seconds, each process continues with its
// part of the last rate, and shares again once the store is back.
class SharedRateLimiter final : public RateLimiter {
 public:
  // Returns a limiter that asks `store`, or the error of `Validate`. Does not
  // wait for the store: polls wait for its first answer, but for at most 3 s.
  // All waits must use the clock of the store.
  static absl::StatusOr<std::shared_ptr<SharedRateLimiter>> Make(
      std::shared_ptr<BudgetStore> store, SharedRateLimiterOptions options);

  // Leaves the budget. Does not block.
  ~SharedRateLimiter() override;

  SharedRateLimiter(const SharedRateLimiter&) = delete;
  SharedRateLimiter& operator=(const SharedRateLimiter&) = delete;

  // Costs about 50 ns, whether it returns `now` or a later time. A few times
  // per second it also hands a request to the store, which takes microseconds.
  MonotonicTime Acquire(MonotonicTime now) override;

  void Update(MonotonicTime now, PollStatus status) override;

  std::optional<double> Rate() const override;

  // Returns a limiter for one process with the same rate.
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

// Options of a `SharedRetryQuota`, equal for all members of a budget.
struct SharedRetryQuotaOptions {
  // As `SharedRateLimiterOptions::name`; a rate and a quota may have the same
  // name.
  std::string name;

  // For all members together. `when_spent` must not be kWait, `compatible` must
  // be false, and `capacity` must be within [1, 1000000000].
  RetryQuotaOptions quota = {};

  // Time after which the tokens of a dead process come back. Within [5s,
  // 10min].
  Duration lease = absl::Seconds(10);

  // Minimum number of tokens that a member gets at a time, and starts with.
  // Within [0, capacity]. Unset: twice the highest cost, at most the capacity.
  std::optional<double> min_chunk = std::nullopt;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const SharedRetryQuotaOptions& options);

// Snapshot of a quota, for metrics, logs and tests.
struct SharedRetryQuotaState {
  SharedBudgetMode mode = SharedBudgetMode::kStarting;
  int64_t members = 1;   // By the last answer of the store.
  double available = 0;  // Tokens of this process.
  // Time since the last answer; unset: the store never answered.
  std::optional<absl::Duration> last_sync_age;
  // Why the last request failed; OK if it did not.
  absl::Status last_error;
};

// A retry quota (budgets.h) whose tokens many processes share, so that all of
// them together cannot overload a server that already fails. Thread-safe.
//
// Each process has some of the tokens on lease, in an ordinary `RetryQuota`. In
// the background it reports the tokens it spent, and gets more or gives some
// back, so that all processes have about the same and some are left for new
// processes. The tokens of a process that dies come back at the end of its
// lease.
//
// The quota refuses when this process has no tokens left. A capacity below a
// few `min_chunk` per process leaves some processes without any.
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

  // Returns the quota for `WaitOptions`, which keeps this alive.
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

class RedisCaller;
class RedisClient;

// The store of shared budgets on Redis or Valkey: on one server by a
// `RedisClient`, or on a cluster by a `RedisCluster` (redis/client.h). One
// store, with its connections, serves all budgets of a process. Its keys are
//
//   waiter:rate:{NAME}    and  :seen :busy :taken
//   waiter:quota:{NAME}   and  :held :ends :spent
//
// and expire an hour after their last use; a rate's keys, `burst / rate` after
// it if that is longer. All of them may be deleted at any time;
// docs/distributed.md says what that costs.
class RedisBudgetStore final : public BudgetStore {
 public:
  explicit RedisBudgetStore(std::shared_ptr<RedisCaller> client);

  void Grant(RateRequest request, RateCallback callback) override;
  void Sync(QuotaRequest request, QuotaCallback callback) override;
  void RunAt(MonotonicTime time, std::function<void()> timer) override;
  Clock& clock() override;

 private:
  const std::shared_ptr<RedisCaller> client_;
};

// The budget of `SharedRateLimiter`s.
struct RateBudget {
  std::string name;
  // Polls per second that may pass; unset as long as no poll was throttled.
  std::optional<double> rate = std::nullopt;
  // Measured over about the last second.
  double polls_per_second = 0;
  int64_t members = 0;
  int64_t busy_members = 0;  // Members that wanted slots in the last 2 s.
  // Why the numbers could not be read, such as a key of a different type.
  absl::Status error = {};
};

// The budget of `SharedRetryQuota`s.
struct QuotaBudget {
  std::string name;
  double capacity = 0;
  // Tokens that no member has, and tokens that members have. The rest is spent.
  double free = 0;
  double leased = 0;
  int64_t members = 0;
  absl::Status error = {};
};

// Both lists are sorted by name.
struct BudgetList {
  std::vector<RateBudget> rates;
  std::vector<QuotaBudget> quotas;
};

// Lists the shared budgets of a Redis or Valkey server, and how much of them is
// used. `waiter budgets` prints it:
//
//   waiter::ListBudgets(client, [](absl::StatusOr<waiter::BudgetList> list) {
//     if (!list.ok()) return Report(list.status());
//     for (const waiter::RateBudget& budget : list->rates) {
//       std::cout << budget.name << " " << budget.polls_per_second << "\n";
//     }
//   });
//
// Calls `callback` exactly once, on the client's thread and never before this
// has returned, with an error of `RedisClient::Call` if the server cannot be
// asked. Only reads, so a replica is enough. Scans all keys of the server's
// database, a thousand at a time; of a cluster, the keys of one node.
// Thread-safe.
void ListBudgets(const std::shared_ptr<RedisClient>& client,
                 std::function<void(absl::StatusOr<BudgetList>)> callback);

}  // namespace waiter

#endif  // WAITER_REDIS_SHARED_BUDGETS_H_
