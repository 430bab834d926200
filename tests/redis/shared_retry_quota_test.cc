// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Simulates processes that share a retry quota, with a store in memory, on
// simulated time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "cli/sim/memory_budget_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "tests/support/simulated_budget_store.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/testing/simulated_clock.h"

namespace waiter::shared_retry_quota_test {
namespace {

// The store as seen by a process that may be paused: the store keeps working,
// and answers and timers come when the process continues.
class PausableStore final : public BudgetStore,
                            public std::enable_shared_from_this<PausableStore> {
 public:
  PausableStore(SimulatedClock& clock, std::shared_ptr<BudgetStore> store)
      : clock_(clock), store_(std::move(store)) {}

  void Grant(RateRequest request, RateCallback callback) override {
    store_->Grant(std::move(request), std::move(callback));
  }
  void Sync(QuotaRequest request, QuotaCallback callback) override {
    store_->Sync(std::move(request),
                 [self = shared_from_this(), callback = std::move(callback)](
                     const absl::StatusOr<QuotaGrant>& grant) {
                   self->Run([callback, grant] { callback(grant); });
                 });
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    store_->RunAt(time, [self = shared_from_this(), timer = std::move(timer)] {
      self->Run(timer);
    });
  }
  Clock& clock() override { return clock_; }

  void PauseUntil(absl::Duration time) { paused_until_ = time; }

 private:
  void Run(std::function<void()> event) {
    if (clock_.Elapsed() < paused_until_) {
      clock_.CallAt(paused_until_, std::move(event));
    } else {
      event();
    }
  }

  SimulatedClock& clock_;
  const std::shared_ptr<BudgetStore> store_;
  absl::Duration paused_until_;
};

struct Process {
  std::shared_ptr<sim::MemoryBudgetStore> store;
  std::shared_ptr<PausableStore> pausable;
  std::shared_ptr<SharedRetryQuota> shared;
  std::shared_ptr<RetryQuota> quota;
};

class SharedRetryQuotaTest : public testing::Test {
 protected:
  Process& Add(const SharedRetryQuotaOptions& options, bool is_cut = false) {
    auto store = std::make_shared<SimulatedBudgetStore>(clock_, book_);
    if (is_cut) store->Cut();
    auto pausable = std::make_shared<PausableStore>(clock_, store);
    auto shared = *SharedRetryQuota::Make(pausable, options);
    auto quota = shared->quota();
    processes_.push_back(std::make_unique<Process>(
        Process{store, pausable, std::move(shared), std::move(quota)}));
    return *processes_.back();
  }

  // Makes one retry, and returns whether the quota allowed it.
  bool Retry(Process& process) {
    QuotaToken token;
    return process.quota
        ->Acquire(QuotaUse::kRetry, clock_.MonotonicNow(), token)
        .has_value();
  }

  // Makes all processes except `idle` retry as often as they can, and returns
  // the cost in tokens.
  double RetryFor(absl::Duration time, const Process* idle = nullptr) {
    double paid = 0;
    for (const absl::Duration end = clock_.Elapsed() + time;
         clock_.Elapsed() < end; clock_.AdvanceTime(absl::Milliseconds(5))) {
      for (const auto& process : processes_) {
        if (process.get() != idle && Retry(*process)) paid += 14;
      }
    }
    return paid;
  }

  double Available(const Process& process) {
    return process.quota->Available(clock_.MonotonicNow());
  }
  double AllAvailable() {
    double sum = 0;
    for (const auto& process : processes_) sum += Available(*process);
    return sum;
  }

  SimulatedClock clock_{SimulatedClock::Mode::kManual};
  std::shared_ptr<sim::BudgetBook> book_ = std::make_shared<sim::BudgetBook>();
  std::vector<std::unique_ptr<Process>> processes_;
};

TEST_F(SharedRetryQuotaTest, MembersGetEqualPartsAndLeaveOne) {
  for (int i = 0; i < 4; ++i) Add({.name = "api", .quota = {.capacity = 500}});
  clock_.AdvanceTime(absl::Seconds(30));

  for (const auto& process : processes_) {
    EXPECT_NEAR(Available(*process), 100, 1);
    EXPECT_EQ(process->shared->State().mode, SharedBudgetMode::kShared);
    EXPECT_EQ(process->shared->State().members, 4);
  }
  EXPECT_NEAR(book_->TokensOf("api"), 500, 1e-6);
}

TEST_F(SharedRetryQuotaTest, NewMemberRetriesBeforeTheStoreHasAnswered) {
  Process& process = Add({.name = "api"});
  EXPECT_TRUE(Retry(process));
  EXPECT_TRUE(Retry(process));
  clock_.AdvanceTime(absl::Seconds(3));
  // The store knows of both retries.
  EXPECT_NEAR(book_->TokensOf("api"), 500 - 28, 1e-6);
}

TEST_F(SharedRetryQuotaTest, OneMemberMayUseNearlyAllTokens) {
  Process& busy = Add({.name = "api", .quota = {.capacity = 500}});
  Add({.name = "api", .quota = {.capacity = 500}});
  clock_.AdvanceTime(absl::Seconds(10));
  int retries = 0;
  for (int i = 0; i < 10'000; ++i) {
    retries += Retry(busy) ? 1 : 0;
    clock_.AdvanceTime(absl::Milliseconds(2));
  }
  // The idle member keeps the minimum chunk.
  EXPECT_GE(retries * 14, 500 - 28 - 14 - 28);
  EXPECT_LE(retries * 14, 500);
}

TEST_F(SharedRetryQuotaTest, RefillIsThatOfOneQuota) {
  const SharedRetryQuotaOptions options = {
      .name = "api", .quota = {.capacity = 200, .refill_per_second = 28}};
  for (int i = 0; i < 3; ++i) Add(options);
  int retries = 0;
  for (int i = 0; i < 60'000; ++i) {
    for (const auto& process : processes_) retries += Retry(*process) ? 1 : 0;
    clock_.AdvanceTime(absl::Milliseconds(1));
  }
  EXPECT_LE(retries * 14, 200 + 28 * 60);
  EXPECT_GE(retries * 14, 0.9 * 28 * 60);
}

TEST_F(SharedRetryQuotaTest, SuccessesReturnTheirCosts) {
  Process& process = Add({.name = "api", .quota = {.capacity = 500}});
  clock_.AdvanceTime(absl::Seconds(10));
  for (int i = 0; i < 1000; ++i) {
    QuotaToken token;
    const MonotonicTime now = clock_.MonotonicNow();
    ASSERT_TRUE(
        process.quota->Acquire(QuotaUse::kRetry, now, token).has_value());
    clock_.AdvanceTime(absl::Milliseconds(100));
    process.quota->Release(clock_.MonotonicNow(), token);
  }
  clock_.AdvanceTime(absl::Seconds(5));
  EXPECT_NEAR(book_->TokensOf("api"), 500, 1e-6);
}

TEST_F(SharedRetryQuotaTest, TokensOfADeadMemberComeBackAfterItsLease) {
  Process& dead = Add({.name = "api"});
  Process& other = Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(10));
  dead.store->Cut();
  clock_.AdvanceTime(absl::Seconds(9));
  EXPECT_NEAR(Available(other), 500.0 / 3, 1);
  clock_.AdvanceTime(absl::Seconds(5));
  EXPECT_NEAR(Available(other), 250, 1);
  EXPECT_NEAR(book_->TokensOf("api"), 500, 1e-6);
}

TEST_F(SharedRetryQuotaTest, MemberThatLeavesReturnsItsTokensAtOnce) {
  Add({.name = "api"});
  Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(10));
  processes_.erase(processes_.begin());
  clock_.AdvanceTime(absl::Seconds(3));
  EXPECT_NEAR(Available(*processes_.front()), 250, 1);
}

TEST_F(SharedRetryQuotaTest,
       WithoutTheStoreEachHasItsPartFromTheEndOfItsLease) {
  for (int i = 0; i < 5; ++i) Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(20));
  for (const auto& process : processes_) process->store->Cut();
  clock_.AdvanceTime(absl::Seconds(6));
  Process& one = *processes_.front();
  EXPECT_EQ(one.shared->State().mode, SharedBudgetMode::kLocal);
  EXPECT_NEAR(Available(one), 500.0 / 6, 1);
  clock_.AdvanceTime(absl::Seconds(6));
  for (const auto& process : processes_) {
    EXPECT_NEAR(Available(*process), 100, 1);
  }
  for (const auto& process : processes_) process->store->Heal();
  clock_.AdvanceTime(absl::Seconds(20));
  EXPECT_EQ(one.shared->State().mode, SharedBudgetMode::kShared);
  EXPECT_NEAR(Available(one), 500.0 / 6, 1);
  EXPECT_NEAR(book_->TokensOf("api"), 500, 1e-6);
}

TEST_F(SharedRetryQuotaTest, ProcessThatNeverReachedTheStoreHasAnOwnQuota) {
  Process& process = Add({.name = "api"}, /*is_cut=*/true);
  EXPECT_NEAR(Available(process), 28, 1e-9);
  clock_.AdvanceTime(absl::Seconds(4));
  EXPECT_EQ(process.shared->State().mode, SharedBudgetMode::kLocal);
  EXPECT_NEAR(Available(process), 500, 1e-9);
  EXPECT_FALSE(process.shared->State().last_error.ok());
}

TEST_F(SharedRetryQuotaTest, EmptiedStoreLearnsWhatMembersHave) {
  for (int i = 0; i < 4; ++i) Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(20));
  book_->Clear();
  clock_.AdvanceTime(absl::Seconds(1));
  // The members may also keep the tokens that they held.
  EXPECT_LE(AllAvailable(), 500 + 400);
  clock_.AdvanceTime(absl::Seconds(20));
  for (const auto& process : processes_) {
    EXPECT_NEAR(Available(*process), 100, 1);
  }
  EXPECT_NEAR(book_->TokensOf("api"), 500, 1e-6);
}

TEST_F(SharedRetryQuotaTest,
       StoreThatLosesItsLastSecondsLosesWhatItGrantedInThem) {
  for (int i = 0; i < 4; ++i) Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(20));
  const sim::BudgetBook copy = *book_;
  // Three members retry, and the store grants the tokens that they spend.
  const double lost = RetryFor(absl::Seconds(2), processes_[0].get());
  ASSERT_GE(lost, 300);
  *book_ = copy;
  const double after = RetryFor(absl::Seconds(40));

  EXPECT_LE(lost + after, 500 + lost);
  // Members report the tokens that they spend even to a store that has
  // forgotten the grants, so the store counts all of them in the end.
  EXPECT_LE(book_->TokensOf("api"), 500 - lost - after + 1e-6);
}

TEST_F(SharedRetryQuotaTest, StoreThatLosesItsLastSecondsLearnsWhatWasSpent) {
  for (int i = 0; i < 4; ++i) Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(20));
  const sim::BudgetBook copy = *book_;
  double spent = 0;
  for (int i = 0; i < 8; ++i) {
    spent += Retry(*processes_[0]) ? 14 : 0;
    clock_.AdvanceTime(absl::Milliseconds(500));
  }
  ASSERT_EQ(spent, 8 * 14);
  *book_ = copy;
  clock_.AdvanceTime(absl::Seconds(5));

  EXPECT_NEAR(book_->TokensOf("api"), 500 - spent, 1e-6);
  for (const auto& process : processes_) {
    EXPECT_NEAR(Available(*process), (500 - spent) / 5, 1);
  }
}

// A process that was stopped may spend tokens just before it learns that its
// lease has ended and others have its tokens.
TEST_F(SharedRetryQuotaTest, MemberThatStandsStillSpendsItsPartOnceMore) {
  for (const absl::Duration pause : {absl::Seconds(7), absl::Seconds(60)}) {
    SCOPED_TRACE(absl::FormatDuration(pause));
    processes_.clear();
    book_->Clear();
    for (int i = 0; i < 4; ++i) Add({.name = "api"});
    clock_.AdvanceTime(absl::Seconds(20));
    Process& paused = *processes_[0];
    paused.pausable->PauseUntil(clock_.Elapsed() + pause);
    const double before = RetryFor(pause, &paused);
    const bool is_over = pause > absl::Seconds(10);
    // Once its lease has ended, the others have its tokens.
    EXPECT_LE(before, is_over ? 500 : 400 + 1e-6);
    EXPECT_GE(before, (is_over ? 500 : 400) - 4 * 28);
    const double after = RetryFor(absl::Seconds(30));

    EXPECT_LE(before + after, is_over ? 500 + 500.0 / 4 : 500);
    EXPECT_EQ(paused.shared->State().mode, SharedBudgetMode::kShared);
    EXPECT_LE(book_->TokensOf("api"), 28 + 1e-6);
  }
}

TEST_F(SharedRetryQuotaTest, MembersThatAreCutOffUseTheirPartsBesideTheOthers) {
  constexpr double kRefill = 7;
  const SharedRetryQuotaOptions options = {
      .name = "api", .quota = {.capacity = 500, .refill_per_second = kRefill}};
  for (int i = 0; i < 4; ++i) Add(options);
  clock_.AdvanceTime(absl::Seconds(20));
  processes_[0]->store->Cut();
  const double spent = RetryFor(absl::Seconds(60));

  // The member has the tokens that it held when it was cut off, and a quarter
  // of the capacity and of the refill. When its lease ends, the store also
  // gives the tokens that it held to others.
  EXPECT_LE(spent, 500 + 100 + 500 / 4 + 1.25 * kRefill * 60);
  EXPECT_GE(spent, 0.9 * (500 + 500 / 4 + 1.25 * kRefill * 60));
  EXPECT_EQ(processes_[0]->shared->State().mode, SharedBudgetMode::kLocal);

  processes_[0]->store->Heal();
  RetryFor(absl::Seconds(20));
  EXPECT_EQ(processes_[0]->shared->State().mode, SharedBudgetMode::kShared);
  EXPECT_LE(RetryFor(absl::Seconds(60)), kRefill * 60 + 28);
}

TEST_F(SharedRetryQuotaTest, AnswersThatAreLostLoseNoToken) {
  const uint64_t seed = FirstSeed();
  SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
  std::mt19937_64 gen(seed);
  for (int i = 0; i < 5; ++i) Add({.name = "api"});
  // Each process brings a chunk, which the store takes from the others.
  clock_.AdvanceTime(absl::Seconds(20));
  struct Payment {
    Process* process;
    QuotaToken token;
  };
  std::vector<Payment> spent;  // Not paid back yet.
  for (int i = 0; i < 500; ++i) {
    Process& process = *processes_[absl::Uniform(gen, size_t{0}, size_t{5})];
    process.store->Cut(/*loses_answers=*/true);
    const MonotonicTime now = clock_.MonotonicNow();
    if (absl::Bernoulli(gen, 0.3)) {
      QuotaToken token;
      if (process.quota->Acquire(QuotaUse::kRetry, now, token).has_value()) {
        spent.push_back({&process, token});
      }
    } else if (!spent.empty() && absl::Bernoulli(gen, 0.7)) {
      spent.back().process->quota->Release(now, spent.back().token);
      spent.pop_back();
    }
    clock_.AdvanceTime(absl::Milliseconds(absl::Uniform(gen, 1, 3000)));
    process.store->Heal();
    clock_.AdvanceTime(absl::Milliseconds(absl::Uniform(gen, 1, 1000)));
    // A process that was cut off for longer than its lease has its own share.
    const auto local = std::count_if(
        processes_.begin(), processes_.end(), [](const auto& each) {
          return each->shared->State().mode == SharedBudgetMode::kLocal;
        });
    EXPECT_LE(AllAvailable(), 500 + 100 * static_cast<double>(local) + 1e-6);
  }
  for (Payment& payment : spent) {
    payment.process->quota->Release(clock_.MonotonicNow(), payment.token);
  }
  clock_.AdvanceTime(absl::Seconds(20));
  EXPECT_NEAR(book_->TokensOf("api"), 500, 1e-6);
  EXPECT_NEAR(AllAvailable(), 500 * 5.0 / 6, 1);
}

TEST_F(SharedRetryQuotaTest, TokensAreSpentOnceAlthoughAnswersAreLost) {
  Process& process = Add({.name = "api"});
  clock_.AdvanceTime(absl::Seconds(5));
  EXPECT_TRUE(Retry(process));
  process.store->Cut(/*loses_answers=*/true);
  clock_.AdvanceTime(absl::Seconds(4));
  process.store->Heal();
  clock_.AdvanceTime(absl::Seconds(5));
  EXPECT_NEAR(book_->TokensOf("api"), 500 - 14, 1e-6);
}

TEST_F(SharedRetryQuotaTest, QuotaKeepsTheMemberAlive) {
  Add({.name = "api"});
  Process& process = *processes_.front();
  EXPECT_EQ(process.quota, process.shared->quota());
  process.shared = nullptr;
  clock_.AdvanceTime(absl::Seconds(30));
  EXPECT_NEAR(Available(process), 250, 1);
}

TEST_F(SharedRetryQuotaTest, BoundsOfOptionsAreValidAndTheirNeighborsNot) {
  constexpr absl::Duration kNs = absl::Nanoseconds(1);
  const std::vector<SharedRetryQuotaOptions> valid = {
      {.name = "a", .quota = {.capacity = 1}},
      {.name = "a", .quota = {.capacity = 1e9}},
      {.name = "a", .lease = absl::Seconds(5)},
      {.name = "a", .lease = absl::Minutes(10)},
      {.name = "a", .min_chunk = 0},
      {.name = "a", .min_chunk = 500},
      {.name = "a",
       .quota = {.when_spent = RetryQuotaOptions::WhenSpent::kTakeRest}},
      {.name = std::string(64, 'x')}};
  const std::vector<SharedRetryQuotaOptions> invalid = {
      {.name = "a", .quota = {.capacity = 0.99}},
      {.name = "a", .quota = {.capacity = 1e9 + 1}},
      {.name = "a", .quota = {.capacity = NAN}},
      {.name = "a", .lease = absl::Seconds(5) - kNs},
      {.name = "a", .lease = absl::Minutes(10) + kNs},
      {.name = "a", .lease = absl::InfiniteDuration()},
      {.name = "a", .min_chunk = -0.1},
      {.name = "a", .min_chunk = 500.1},
      {.name = "a", .min_chunk = NAN},
      {.name = std::string(65, 'x')}};
  for (size_t i = 0; i < valid.size(); ++i) {
    EXPECT_TRUE(Validate(valid[i]).ok()) << i << Validate(valid[i]);
  }
  for (size_t i = 0; i < invalid.size(); ++i) {
    EXPECT_FALSE(Validate(invalid[i]).ok()) << i;
  }
}

TEST_F(SharedRetryQuotaTest, OptionsOutsideOfTheirRangesAreRefused) {
  const auto error = [](const SharedRetryQuotaOptions& options) {
    return std::string(Validate(options).message());
  };
  EXPECT_EQ(error({.name = "a"}), "");
  EXPECT_THAT(error({.name = "a b"}), testing::HasSubstr("\"a b\""));
  EXPECT_THAT(error({.name = "a", .quota = {.retry_cost = -1}}),
              testing::StartsWith("quota.retry_cost is -1"));
  EXPECT_EQ(error({.name = "a", .quota = {.capacity = 0}}),
            "quota.capacity is 0; it must be within [1, 1000000000]");
  EXPECT_THAT(
      error({.name = "a",
             .quota = {.refill_per_second = 1,
                       .when_spent = RetryQuotaOptions::WhenSpent::kWait}}),
      testing::HasSubstr("quota.when_spent is kWait"));
  EXPECT_THAT(error({.name = "a", .quota = {.compatible = true}}),
              testing::HasSubstr("quota.compatible is true"));
  EXPECT_EQ(error({.name = "a", .lease = absl::Seconds(1)}),
            "lease is 1s; it must be within [5s, 10min]");
  EXPECT_EQ(error({.name = "a", .min_chunk = 501}),
            "min_chunk is 501; it must be within [0, quota.capacity], which is "
            "500");
  EXPECT_FALSE(SharedRetryQuota::Make(nullptr, {.name = "a"}).ok());
}

}  // namespace
}  // namespace waiter::shared_retry_quota_test
