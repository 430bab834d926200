// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests what one member does with the store's answers, at given times.

#include "waiter/redis/slot_ledger.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"

namespace waiter::internal::slot_ledger_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class SlotLedgerTest : public testing::Test {
 protected:
  // Returns a grant of slots that are 10 ms apart.
  static RateGrant Slots(int64_t count, milliseconds first_in) {
    return {.granted = count,
            .first_in = first_in,
            .interval = milliseconds(10),
            .rate = 100,
            .members = 4,
            .ask_again = milliseconds(250)};
  }

  // Sends a request and gets the grant after 1 ms.
  void Sync(const RateGrant& grant) {
    ledger_.BeginSync(now_);
    now_ += milliseconds(1);
    ledger_.OnGrant(grant, now_);
  }

  bool Passes() { return ledger_.Acquire(now_).start == now_; }

  MonotonicTime now_{seconds(1000)};
  SlotLedger ledger_{{.name = "api", .rate = 100}, now_};
};

TEST_F(SlotLedgerTest, NothingPassesBeforeTheFirstAnswer) {
  EXPECT_TRUE(ledger_.SyncIsDue(now_));
  const SlotLedger::Turn turn = ledger_.Acquire(now_);
  EXPECT_GT(turn.start, now_);
  EXPECT_LT(turn.start, now_ + milliseconds(20));
  EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kStarting);
  EXPECT_EQ(ledger_.BeginSync(now_).want, 1);
  EXPECT_FALSE(ledger_.SyncIsDue(now_ + seconds(100)));
}

TEST_F(SlotLedgerTest, SlotIsTakenAtItsTimeAndOnce) {
  Sync(Slots(1, milliseconds(20)));
  EXPECT_FALSE(Passes());
  now_ += milliseconds(20) - microseconds(1);
  EXPECT_FALSE(Passes());
  now_ += microseconds(1);
  EXPECT_TRUE(Passes());
  EXPECT_FALSE(Passes());
  EXPECT_EQ(ledger_.granted(), 1);
  EXPECT_EQ(ledger_.unused(), 0);
}

TEST_F(SlotLedgerTest, EachWaitIsToldAnotherSlot) {
  Sync(Slots(3, milliseconds(20)));
  EXPECT_EQ(ledger_.Acquire(now_).start, now_ + milliseconds(20));
  EXPECT_EQ(ledger_.Acquire(now_).start, now_ + milliseconds(30));
  EXPECT_EQ(ledger_.Acquire(now_).start, now_ + milliseconds(40));
  // Beyond these slots, the starts are guesses, which also differ.
  const MonotonicTime guess = ledger_.Acquire(now_).start;
  EXPECT_GT(guess, now_);
  EXPECT_GT(ledger_.Acquire(now_).start, guess);
}

TEST_F(SlotLedgerTest, SlotIsDroppedAHorizonAfterItsTime) {
  Sync(Slots(3, milliseconds(0)));
  now_ += milliseconds(500);
  EXPECT_TRUE(Passes());
  now_ += milliseconds(15);
  EXPECT_TRUE(Passes());
  EXPECT_EQ(ledger_.unused(), 1);
  EXPECT_FALSE(Passes());
}

TEST_F(SlotLedgerTest, SlotsThatPassedBeforeTheAnswerMayBeUsedAtOnce) {
  Sync(Slots(5, milliseconds(-25)));
  EXPECT_TRUE(Passes());
  EXPECT_TRUE(Passes());
  EXPECT_TRUE(Passes());
  EXPECT_EQ(ledger_.Acquire(now_).start, now_ + milliseconds(5));
}

TEST_F(SlotLedgerTest, AnswerReadAfterAPauseIsTooOld) {
  Sync(Slots(0, milliseconds(0)));
  ledger_.BeginSync(now_);
  now_ += seconds(60);
  ledger_.OnGrant(Slots(20, milliseconds(0)), now_);
  EXPECT_FALSE(Passes());
  EXPECT_EQ(ledger_.unused(), 20);
}

TEST_F(SlotLedgerTest, AnswersThatAreAlwaysSlowAreUsed) {
  for (int i = 0; i < 100; ++i) {
    ledger_.BeginSync(now_);
    now_ += milliseconds(700);
    ledger_.OnGrant(Slots(1, milliseconds(0)), now_);
  }
  EXPECT_TRUE(Passes());
}

TEST_F(SlotLedgerTest, GoesOnAloneAfterThreeMissesAndTwoSeconds) {
  Sync(Slots(2, milliseconds(0)));
  ledger_.BeginSync(now_);
  ledger_.OnMiss(now_);
  for (int i = 0; i < 3; ++i) {
    now_ += milliseconds(300);
    ledger_.BeginSync(now_);
    ledger_.OnMiss(now_);
    EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kShared);
  }
  now_ += milliseconds(1200);
  ledger_.BeginSync(now_);
  ledger_.OnMiss(now_);
  EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kLocal);
  EXPECT_EQ(ledger_.Rate(), 25);
  EXPECT_TRUE(Passes());
  EXPECT_EQ(ledger_.Acquire(now_).start, now_ + milliseconds(40));

  Sync(Slots(2, milliseconds(0)));
  EXPECT_EQ(ledger_.mode(), SharedBudgetMode::kShared);
  EXPECT_EQ(ledger_.Rate(), 100);
}

// A store that was away for long knows only the members that have come back.
TEST_F(SlotLedgerTest, MembersThatAreNotBackYetCountForTenSeconds) {
  const auto go_on_alone = [&] {
    while (ledger_.mode() != SharedBudgetMode::kLocal) {
      ledger_.BeginSync(now_);
      now_ += milliseconds(700);
      ledger_.OnMiss(now_);
    }
  };
  RateGrant first_back = Slots(1, milliseconds(0));
  first_back.members = 1;

  Sync(Slots(1, milliseconds(0)));
  go_on_alone();
  now_ += seconds(60);
  Sync(first_back);
  EXPECT_EQ(ledger_.members(), 1);
  go_on_alone();
  EXPECT_EQ(ledger_.Rate(), 25);

  // The other members are gone.
  Sync(first_back);
  now_ += seconds(10);
  Sync(first_back);
  go_on_alone();
  EXPECT_EQ(ledger_.Rate(), 100);
}

TEST_F(SlotLedgerTest, LocalRateIsKeptAlthoughWaitsComeLate) {
  LocalBucket bucket(50, 1, milliseconds(500), now_);
  int polls = 0;
  const MonotonicTime end = now_ + seconds(10);
  while (now_ < end) {
    const MonotonicTime start = bucket.Acquire(now_);
    if (start == now_) {
      ++polls;
    } else {
      now_ = start + milliseconds(3);
    }
  }
  EXPECT_NEAR(polls, 500, 2);
}

TEST_F(SlotLedgerTest, ThrottledPollIsReportedAtOnceButNotAgain) {
  SlotLedger ledger({.name = "api"}, now_);
  ledger.BeginSync(now_);
  ledger.OnGrant({.ask_again = milliseconds(250)}, now_);
  EXPECT_TRUE(ledger.PassesAll());
  EXPECT_FALSE(ledger.OnPoll(now_, PollStatus::kNotReady));
  EXPECT_TRUE(ledger.OnPoll(now_, PollStatus::kThrottled));
  const RateRequest request = ledger.BeginSync(now_);
  EXPECT_TRUE(request.throttled);
  EXPECT_EQ(request.polls, 2);
  now_ += milliseconds(1);
  ledger.OnGrant({.rate = 10, .ask_again = milliseconds(250)}, now_);
  EXPECT_FALSE(ledger.PassesAll());
  EXPECT_FALSE(ledger.OnPoll(now_, PollStatus::kThrottled));
}

TEST_F(SlotLedgerTest, PollsOfTheTimeWithoutAStoreAreNoReasonToCutTheRate) {
  SlotLedger adaptive({.name = "api"}, now_);
  for (int i = 0; i < 3; ++i) {
    adaptive.BeginSync(now_);
    now_ += seconds(1);
    adaptive.OnMiss(now_);
  }
  ASSERT_EQ(adaptive.mode(), SharedBudgetMode::kLocal);
  adaptive.BeginSync(now_);
  adaptive.OnGrant({.ask_again = milliseconds(250)}, now_);
  ASSERT_EQ(adaptive.mode(), SharedBudgetMode::kShared);

  // This poll began before the store was back.
  now_ += milliseconds(20);
  EXPECT_FALSE(adaptive.OnPoll(now_, PollStatus::kThrottled));
  now_ += milliseconds(250);
  RateRequest request = adaptive.BeginSync(now_);
  EXPECT_FALSE(request.throttled);
  EXPECT_EQ(request.polls, 1);
  adaptive.OnGrant({.ask_again = milliseconds(250)}, now_);

  now_ += milliseconds(250);
  EXPECT_TRUE(adaptive.OnPoll(now_, PollStatus::kThrottled));
  EXPECT_TRUE(adaptive.BeginSync(now_).throttled);
}

TEST_F(SlotLedgerTest, IdleMemberAsksOnceInFiveSeconds) {
  Sync(Slots(0, milliseconds(0)));
  EXPECT_EQ(ledger_.next_sync(), now_ - milliseconds(1) + seconds(5));
}

TEST_F(SlotLedgerTest, NoWaitIsToldATimeFarAfterTheNextAnswer) {
  Sync({.interval = seconds(2), .rate = 0.5, .ask_again = milliseconds(250)});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LT(ledger_.Acquire(now_).start, now_ + seconds(4));
  }
}

TEST_F(SlotLedgerTest, WaitThatComesJustAfterAnIdleSyncHastensTheNext) {
  Sync(Slots(0, milliseconds(0)));
  const MonotonicTime gap_end = now_ - milliseconds(1) + milliseconds(5);
  const SlotLedger::Turn turn = ledger_.Acquire(now_);
  EXPECT_FALSE(turn.ask);
  EXPECT_TRUE(turn.earlier);
  EXPECT_EQ(ledger_.next_sync(), gap_end);
  EXPECT_LT(turn.start, gap_end + milliseconds(5));
  EXPECT_FALSE(ledger_.Acquire(now_).earlier);
}

}  // namespace
}  // namespace waiter::internal::slot_ledger_test
