// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests what one member of a quota does with the store's answers, at given
// times.

#include "waiter/redis/share_ledger.h"

#include <chrono>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/redis/sync_times.h"

namespace waiter::internal::share_ledger_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kTick(1);

class ShareLedgerTest : public testing::Test {
 protected:
  void Miss(double available) {
    ledger_.BeginSync(now_, available);
    EXPECT_EQ(ledger_.OnMiss(now_, available), 0);
    now_ += milliseconds(300);
  }

  MonotonicTime now_{seconds(1000)};
  ShareLedger ledger_{{.capacity = 500,
                       .refill_per_second = 10,
                       .min_chunk = 28,
                       .lease = seconds(10)},
                      now_};
};

TEST_F(ShareLedgerTest, FirstRequestAccountsForTheStartingTokens) {
  const QuotaRequest request = ledger_.BeginSync(now_, 14);
  EXPECT_EQ(request.has, 14);
  EXPECT_EQ(request.spent, 14);
}

TEST_F(ShareLedgerTest, GrantBringsWhatTheStoreBooked) {
  ledger_.BeginSync(now_, 28);
  EXPECT_EQ(ledger_.OnGrant({.change = 72, .held = 100, .members = 3}, now_),
            72);
  const QuotaRequest request = ledger_.BeginSync(now_, 86);
  EXPECT_EQ(request.has, 86);
  EXPECT_EQ(request.spent, 14);
}

TEST_F(ShareLedgerTest, RequestWithoutAnswerIsPartOfTheNext) {
  ledger_.BeginSync(now_, 14);
  ledger_.OnMiss(now_, 14);
  QuotaRequest request = ledger_.BeginSync(now_, 0);
  EXPECT_EQ(request.spent, 28);
  EXPECT_EQ(request.spent_in_all, 28);
  ledger_.OnGrant({.change = 100, .held = 100, .members = 3}, now_);
  request = ledger_.BeginSync(now_, 70);
  EXPECT_EQ(request.spent, 30);
  EXPECT_EQ(request.spent_in_all, 58);
}

TEST_F(ShareLedgerTest, TokensThatWereSpentBeforeTheyGoBackAreOwed) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.change = 72, .held = 100, .members = 1}, now_);
  ledger_.BeginSync(now_, 100);
  // The member has spent all but 5 since its request, and must give back 60.
  EXPECT_EQ(ledger_.OnGrant({.change = -60, .held = 40, .members = 2}, now_),
            -60);
  ledger_.Owe(55);
  const QuotaRequest request = ledger_.BeginSync(now_, 0);
  EXPECT_EQ(request.has, -55);
  EXPECT_EQ(request.has + request.spent, 40);
  // The store took the tokens, so the member owes nothing.
  EXPECT_EQ(ledger_.OnGrant({.change = 28, .held = 28, .members = 2}, now_),
            28);
  EXPECT_EQ(ledger_.BeginSync(now_, 28).has, 28);
}

TEST_F(ShareLedgerTest, AnswerWithoutANumberChangesNothing) {
  ledger_.Owe(10);
  ledger_.BeginSync(now_, 20);
  EXPECT_EQ(
      ledger_.OnGrant({.held = std::numeric_limits<double>::quiet_NaN()}, now_),
      0);
  const QuotaRequest request = ledger_.BeginSync(now_, 20);
  EXPECT_EQ(request.has + request.spent, 10);
}

TEST_F(ShareLedgerTest, LeaseEndsByTheTimeOfSending) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.change = 72, .held = 100, .members = 4},
                  now_ + milliseconds(900));
  const MonotonicTime end = now_ + seconds(10);
  EXPECT_EQ(ledger_.OnTime(end - milliseconds(1), 100), 0);
  // The member gets a quarter of the capacity.
  EXPECT_EQ(ledger_.OnTime(end, 100), 25);
  EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kLocal);
  // Then it gets a quarter of the refill, up to the same amount.
  EXPECT_DOUBLE_EQ(ledger_.OnTime(end + seconds(2), 100), 5);
  EXPECT_DOUBLE_EQ(ledger_.OnTime(end + seconds(60), 124), 1);
}

TEST_F(ShareLedgerTest, NeverConnectedProcessGetsTheWholeQuota) {
  for (int i = 0; i < 7; ++i) Miss(28);
  ledger_.BeginSync(now_, 28);
  EXPECT_EQ(ledger_.OnMiss(now_, 28), 472);
  EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kLocal);
  // When the store is reached, it learns both numbers.
  const QuotaRequest request = ledger_.BeginSync(now_, 400);
  EXPECT_EQ(request.has, 400);
  EXPECT_EQ(request.spent, 100);
}

TEST_F(ShareLedgerTest, GoesOnAloneAfterThreeMissesAndTwoSeconds) {
  for (const double tokens : {0, 0, 472}) {
    ledger_.BeginSync(now_, 28);
    EXPECT_EQ(ledger_.OnMiss(now_, 28), tokens);
    now_ += seconds(1);
  }
}

TEST_F(ShareLedgerTest, FirstAnswerIsAwaitedForTwoAndAHalfSeconds) {
  EXPECT_EQ(ledger_.low_level(), 14);
  Miss(28);
  ledger_.BeginSync(now_, 28);
  ledger_.Owe(5);
  const MonotonicTime end = now_ - milliseconds(300) + kLongestSilence;
  EXPECT_EQ(ledger_.next_time(), end);
  EXPECT_EQ(ledger_.OnTime(end - kTick, 28), 0);
  EXPECT_EQ(ledger_.OnTime(end, 28), 472);
  EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kLocal);
  EXPECT_EQ(ledger_.BeginSync(end, 400).has, 400) << "nothing is owed";
}

TEST_F(ShareLedgerTest, LeaseThatEndsDuringASyncIsNotGrantedTwice) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.change = 472, .held = 500, .members = 1}, now_);
  now_ += milliseconds(9900);
  ledger_.BeginSync(now_, 300);
  EXPECT_EQ(ledger_.next_time(), now_ + milliseconds(100));
  now_ += milliseconds(200);
  EXPECT_EQ(ledger_.OnTime(now_, 300), 200);
  // The store recorded 250.
  EXPECT_EQ(ledger_.OnGrant({.change = -50, .held = 250, .members = 1}, now_),
            -250);
  ledger_.BeginSync(now_, 250);
  EXPECT_EQ(ledger_.OnGrant({.held = 250, .members = 1}, now_), 0);
}

TEST_F(ShareLedgerTest, MembersThatAreNotBackYetCountForTenSeconds) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.change = 72, .held = 100, .members = 4}, now_);
  now_ += seconds(60);
  EXPECT_EQ(ledger_.OnTime(now_, 0), 125);
  // The store knows only the members that have come back.
  ledger_.BeginSync(now_, 125);
  ledger_.OnGrant({.change = 0, .held = 125, .members = 1}, now_);
  EXPECT_EQ(ledger_.members(), 1);
  now_ += seconds(10);
  EXPECT_EQ(ledger_.OnTime(now_, 0), 125);

  ledger_.BeginSync(now_, 125);
  ledger_.OnGrant({.change = 0, .held = 125, .members = 1}, now_);
  now_ += seconds(10);
  ledger_.BeginSync(now_, 125);
  ledger_.OnGrant({.change = 0, .held = 125, .members = 1}, now_);
  now_ += seconds(10);
  EXPECT_EQ(ledger_.OnTime(now_, 0), 500);
}

TEST_F(ShareLedgerTest, LowLevelAsksOnceAndWaitsIfTheStoreHasNone) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.change = 72, .held = 100, .level = 300, .members = 3},
                  now_);
  now_ += seconds(1);
  EXPECT_FALSE(ledger_.IsLow(now_, 26));
  EXPECT_TRUE(ledger_.IsLow(now_, 25));
  ledger_.BeginSync(now_, 25);
  EXPECT_FALSE(ledger_.IsLow(now_, 0));
  ledger_.OnGrant({.change = 0, .held = 25, .level = 0, .members = 3}, now_);
  EXPECT_FALSE(ledger_.IsLow(now_ + milliseconds(500) - kTick, 0));
  EXPECT_TRUE(ledger_.IsLow(now_ + milliseconds(500), 0));
  ledger_.BeginSync(now_, 0);
  ledger_.OnGrant({.change = 0, .held = 25, .level = 1, .members = 3}, now_);
  EXPECT_TRUE(ledger_.IsLow(now_ + kLeastGap, 0)) << "the store has a token";
}

TEST_F(ShareLedgerTest, NextSyncIsDueTwoSecondsAfterTheLastRequest) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.held = 28, .members = 1}, now_ + milliseconds(900));
  EXPECT_EQ(ledger_.last_sync(), now_ + milliseconds(900));
  EXPECT_FALSE(ledger_.SyncIsDue(now_ + seconds(2) - kTick));
  EXPECT_TRUE(ledger_.SyncIsDue(now_ + seconds(2)));
  EXPECT_EQ(ledger_.next_time(), now_ + seconds(2));
}

TEST_F(ShareLedgerTest, AnswerEndsTheCountOfMisses) {
  Miss(28);
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.held = 28, .level = 300, .members = 1}, now_);
  EXPECT_TRUE(ledger_.IsLow(now_ + kLeastGap, 0));
  now_ += seconds(5);
  for (int i = 0; i < 3; ++i) {
    ledger_.BeginSync(now_, 28);
    ledger_.OnMiss(now_, 28);
    EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kShared);
    now_ += milliseconds(100);
  }
}

TEST_F(ShareLedgerTest, RefillIsLocalUntilTheStoreAnswers) {
  ledger_.BeginSync(now_, 28);
  ledger_.OnGrant({.held = 28, .members = 1}, now_);
  now_ += seconds(10);
  ledger_.OnTime(now_, 28);
  ledger_.BeginSync(now_, 100);
  EXPECT_EQ(ledger_.next_time(), now_ + seconds(1));
  EXPECT_EQ(ledger_.OnTime(now_ + seconds(1), 100), 10);
  ledger_.OnGrant({.held = 100, .members = 1}, now_ + seconds(1));
  EXPECT_EQ(ledger_.OnTime(now_ + seconds(5), 100), 0);
}

}  // namespace
}  // namespace waiter::internal::share_ledger_test
