// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Holds every store of durable waits to the same contract: waits that are
// added, claimed and settled.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/store_calls.h"
#include "tests/durable/wait_store_fixture.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/store.h"

namespace waiter::wait_store_contract_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class WaitStoreContractTest : public WaitStoreTest {};

INSTANTIATE_TEST_SUITE_P(Stores, WaitStoreContractTest,
                         testing::ValuesIn(kStoreKinds),
                         [](const testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

// Adding.

TEST_P(WaitStoreContractTest, WaitIsAddedOnceAndThenLeftAlone) {
  absl::StatusOr<EnqueueReply> reply =
      Enqueue({{.key = "a", .record = "first", .args = "x"},
               {.key = "b", .record = "first"},
               {.key = "a", .record = "second", .args = "y"}});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->created, ElementsAre(true, true, false));
  const int64_t born = reply->now_us;
  reply = Enqueue({{.key = "a", .record = "third", .args = "z"}, {.key = "c"}});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->created, ElementsAre(false, true));
  const StoredWait wait = Get("a");
  EXPECT_EQ(wait.record, absl::StrCat("0", born, " first"));
  EXPECT_EQ(wait.args, "x");
  EXPECT_EQ(Count(Stats(), "enqueued"), 3);
}

TEST_P(WaitStoreContractTest, DelayCountsFromTheStoresTimeToTheMicrosecond) {
  const EnqueueReply reply =
      ValueOrFail(Enqueue({{.key = "a", .delay_us = 3'000'000'001},
                           {.key = "b", .delay_us = kMinute * 60 * 876'000}}));
  for (const auto& [key, delay] :
       {std::pair("a", 3'000'000'001), {"b", kMinute * 60 * 876'000}}) {
    const StoredWait wait = Get(key);
    ASSERT_TRUE(wait.due_us.has_value());
    // The time is even, because no worker holds the wait.
    const int64_t due = reply.now_us + delay;
    EXPECT_EQ(*wait.due_us, due - due % 2);
  }
}

TEST_P(WaitStoreContractTest, FullPartitionRefusesAllItems) {
  ASSERT_TRUE(Enqueue({{.key = "a"}}, 2).ok());
  EXPECT_THAT(Enqueue({{.key = "b"}, {.key = "c"}}, 2).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(Get("b").exists());
  EXPECT_EQ(Count(Stats(), "enqueued"), 1);
  // Existing waits need no room.
  EXPECT_TRUE(Enqueue({{.key = "a"}, {.key = "b"}}, 2).ok());
  EXPECT_TRUE(Enqueue({{.key = "a"}, {.key = "b"}}, 2).ok());
}

TEST_P(WaitStoreContractTest, AllBytesAreKept) {
  const std::string bytes("\0a\r\n\xff {}\n:1\0", 12);
  ASSERT_TRUE(Enqueue({{.key = bytes, .record = bytes, .args = bytes}}).ok());
  const ClaimReply claimed = Claim();
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_EQ(claimed.waits[0].key, bytes);
  EXPECT_EQ(claimed.waits[0].args, bytes);
  EXPECT_THAT(claimed.waits[0].record, testing::EndsWith(" " + bytes));
  Settle({{.key = bytes,
           .fence = claimed.fence,
           .action = SettleAction::kEnd,
           .record = "1" + bytes,
           .value = bytes,
           .reason = "success"}});
  const StoredWait wait = Get(bytes);
  EXPECT_EQ(wait.record, "1" + bytes);
  EXPECT_EQ(wait.value, bytes);
}

TEST_P(WaitStoreContractTest, PartitionsNamesAndSpacesAreApart) {
  const WaitPartition first = partition_;
  Add({"a"});
  for (const WaitPartition& other :
       {WaitPartition{first.space, first.name, 1},
        WaitPartition{first.space, "other", 0},
        WaitPartition{first.space + "other", first.name, 0}}) {
    partition_ = other;
    EXPECT_FALSE(Get("a").exists());
    EXPECT_THAT(Claim().waits, IsEmpty());
    EXPECT_EQ(Stats().pending, 0);
  }
  partition_ = first;
  EXPECT_THAT(KeysOf(Claim()), ElementsAre("a"));
}

// Claiming.

TEST_P(WaitStoreContractTest, ThoseDueForLongestAreClaimedFirst) {
  ASSERT_TRUE(Enqueue({{.key = "c", .delay_us = kMinute},
                       {.key = "b", .delay_us = 4000},
                       {.key = "a", .delay_us = 2000},
                       {.key = "d", .delay_us = 6000}})
                  .ok());
  subject_->Pass(absl::Milliseconds(50));
  ClaimReply claimed = Claim(2);
  EXPECT_THAT(KeysOf(claimed), ElementsAre("a", "b"));
  // More waits may be due now.
  EXPECT_EQ(claimed.next_us, std::nullopt);
  claimed = Claim(2);
  EXPECT_THAT(KeysOf(claimed), ElementsAre("d"));
  // Leases also last one minute, but began later.
  EXPECT_EQ(claimed.next_us, Get("c").due_us);
}

TEST_P(WaitStoreContractTest, WaitsDueAtOneTimeAreClaimedOnceEach) {
  std::vector<std::string> keys;
  keys.reserve(10);
  for (int i = 0; i < 10; ++i) keys.push_back(absl::StrCat("k", i));
  Add(keys);
  std::vector<std::string> claimed;
  const auto claim = [&](int64_t most, int64_t lease_us, int64_t lapsed) {
    for (const ClaimedWait& wait : Claim(most, lease_us).waits) {
      lapsed -= wait.crashes;
      claimed.push_back(wait.key);
    }
    EXPECT_EQ(lapsed, 0);
  };
  claim(3, 1000, 0);
  EXPECT_THAT(claimed, SizeIs(3));
  claimed.clear();
  subject_->Pass(absl::Milliseconds(50));
  claim(3, kMinute, 0);
  claim(4, kMinute, 0);
  claim(100, kMinute, 3);
  EXPECT_THAT(claimed, testing::UnorderedElementsAreArray(keys));
}

TEST_P(WaitStoreContractTest, ClaimOfNothingSaysWhenSomethingIsDue) {
  ClaimReply claimed = Claim();
  EXPECT_THAT(claimed.waits, IsEmpty());
  EXPECT_EQ(claimed.next_us, std::nullopt);
  ASSERT_TRUE(Enqueue({{.key = "a", .delay_us = kMinute}}).ok());
  claimed = Claim();
  EXPECT_THAT(claimed.waits, IsEmpty());
  EXPECT_EQ(claimed.next_us, Get("a").due_us);
}

TEST_P(WaitStoreContractTest, NumberOfAHeldWaitIsTheFenceAndTheLeasesEnd) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  EXPECT_EQ(claimed.fence % 2, 1);
  EXPECT_NEAR(static_cast<double>(claimed.fence - claimed.now_us), kMinute, 2);
  EXPECT_EQ(Get("a").due_us, claimed.fence);
  EXPECT_THAT(Claim().waits, IsEmpty());
}

TEST_P(WaitStoreContractTest, FencesGrowAlsoIfLeasesShrink) {
  Add({"a", "b", "c"});
  const int64_t first = Claim(1, 10 * kMinute).fence;
  const int64_t second = Claim(1, kMinute).fence;
  EXPECT_GT(second, first);
  const int64_t third =
      Settle({{.key = "none", .fence = 1}}).fence;  // With a shorter lease.
  EXPECT_GT(third, second);
  EXPECT_GT(Claim(1, 1000).fence, third);
}

TEST_P(WaitStoreContractTest, LeaseThatEndedIsACrashForTheNextHolder) {
  Add({"a"});
  EXPECT_EQ(ClaimBriefly().waits.at(0).crashes, 0);
  EXPECT_EQ(ClaimBriefly().waits.at(0).crashes, 1);
  const ClaimReply claimed = ClaimBriefly();
  EXPECT_EQ(claimed.waits.at(0).crashes, 2);
  // A holder that settles has not crashed.
  EXPECT_THAT(Settle({{.key = "a", .fence = claimed.fence}}).lost, IsEmpty());
  EXPECT_EQ(Claim().waits.at(0).crashes, 0);
}

// Settling.

TEST_P(WaitStoreContractTest, OnlyTheFenceAllowsToSettle) {
  Add({"a", "b"});
  const ClaimReply first = ClaimBriefly();
  const ClaimReply second = Claim();
  ASSERT_THAT(second.waits, SizeIs(2));
  for (const SettleAction action :
       {SettleAction::kRelease, SettleAction::kHold, SettleAction::kEnd,
        SettleAction::kDelivered, SettleAction::kEndUnheard}) {
    const SettleReply settled = Settle({{.key = "a",
                                         .fence = first.fence,
                                         .action = action,
                                         .record = "1late",
                                         .value = "late",
                                         .reason = "success"},
                                        {.key = "none",
                                         .fence = second.fence,
                                         .action = action,
                                         .record = "1late",
                                         .reason = "success"}});
    EXPECT_THAT(settled.lost, UnorderedElementsAre("a", "none"));
    EXPECT_EQ(Get("a").due_us, second.fence);
    EXPECT_EQ(Get("a").record, second.waits[0].record);
    EXPECT_FALSE(Get("none").exists());
  }
  EXPECT_EQ(Count(Stats(), "success"), 0);
}

TEST_P(WaitStoreContractTest, LostLeaseIsReportedBesideANewOneOfTheSameWait) {
  Add({"a"});
  const ClaimReply first = ClaimBriefly();
  const ClaimReply second = Claim();
  ASSERT_THAT(second.waits, SizeIs(1));
  const SettleReply settled = Settle({{.key = "a",
                                       .fence = first.fence,
                                       .action = SettleAction::kEnd,
                                       .record = "1late",
                                       .value = "late",
                                       .reason = "success"},
                                      {.key = "a",
                                       .fence = second.fence,
                                       .delay_us = 3'000'000,
                                       .record = "0new"}});
  EXPECT_THAT(settled.lost, ElementsAre("a"));
  EXPECT_EQ(Get("a").record, "0new");
  EXPECT_EQ(Count(Stats(), "success"), 0);
}

TEST_P(WaitStoreContractTest, LeaseThatEndedStillSettlesIfNobodyClaimed) {
  Add({"a"});
  const ClaimReply claimed = ClaimBriefly();
  EXPECT_THAT(
      Settle({{.key = "a", .fence = claimed.fence, .record = "0late"}}).lost,
      IsEmpty());
  EXPECT_EQ(Get("a").record, "0late");
}

TEST_P(WaitStoreContractTest, ReleasedWaitIsDueAfterItsDelay) {
  Add({"a", "b"});
  const ClaimReply claimed = Claim();
  const SettleReply settled =
      Settle({{.key = "a", .fence = claimed.fence, .delay_us = 3'000'001},
              {.key = "b", .fence = claimed.fence, .record = "0new"}});
  EXPECT_THAT(settled.lost, IsEmpty());
  // The time is even, and not before the delay.
  EXPECT_EQ(Get("a").due_us, settled.now_us - settled.now_us % 2 + 3'000'002);
  EXPECT_EQ(Get("a").record, claimed.waits[0].record);
  EXPECT_EQ(Get("b").record, "0new");
  EXPECT_THAT(KeysOf(Claim()), ElementsAre("b"));
}

TEST_P(WaitStoreContractTest, HeldOnWaitsHaveANewFence) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  const SettleItem hold = {.key = "a",
                           .fence = claimed.fence,
                           .action = SettleAction::kHold,
                           .record = "0held"};
  const SettleReply settled = Settle({hold});
  EXPECT_THAT(settled.lost, IsEmpty());
  EXPECT_GT(settled.fence, claimed.fence);
  EXPECT_EQ(Get("a").due_us, settled.fence);
  EXPECT_EQ(Get("a").record, "0held");
  EXPECT_THAT(Settle({hold}).lost, ElementsAre("a"));
}

TEST_P(WaitStoreContractTest, EndIsHeldUntilItIsDelivered) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  SettleReply settled = Settle({Ended("a", claimed.fence)});
  EXPECT_EQ(Get("a").due_us, settled.fence);
  EXPECT_EQ(Get("a").value, "value");
  WaitStats stats = Stats();
  EXPECT_EQ(stats.pending, 1);
  EXPECT_EQ(stats.kept, 0);
  EXPECT_EQ(Count(stats, "success"), 1);
  settled = Settle({{.key = "a",
                     .fence = settled.fence,
                     .action = SettleAction::kDelivered,
                     .record = "2delivered"}});
  EXPECT_THAT(settled.lost, IsEmpty());
  const StoredWait wait = Get("a");
  EXPECT_EQ(wait.due_us, std::nullopt);
  EXPECT_EQ(wait.record, "2delivered");
  EXPECT_EQ(wait.value, "value");
  stats = Stats();
  EXPECT_EQ(stats.pending, 0);
  EXPECT_EQ(stats.kept, 1);
  EXPECT_EQ(Count(stats, "success"), 1);
  EXPECT_THAT(Claim().waits, IsEmpty());
  EXPECT_THAT(ValueOrFail(Enqueue({{.key = "a"}})).created, ElementsAre(false));
}

TEST_P(WaitStoreContractTest, ResultThatIsNotDeliveredIsClaimedAgain) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  const SettleReply settled = Settle({Ended("a", claimed.fence)});
  Settle({{.key = "a", .fence = settled.fence}});
  const ClaimReply again = Claim();
  ASSERT_THAT(again.waits, SizeIs(1));
  EXPECT_EQ(again.waits[0].record, "1ended");
  EXPECT_EQ(Get("a").value, "value");
}

TEST_P(WaitStoreContractTest, EndThatNobodyHearsIsDeliveredAtOnce) {
  Add({"a"});
  EXPECT_THAT(Settle({Over("a", Claim().fence, "deadline")}).lost, IsEmpty());
  EXPECT_EQ(Get("a").due_us, std::nullopt);
  EXPECT_EQ(Get("a").value, "value");
  EXPECT_EQ(Stats().kept, 1);
  EXPECT_EQ(Count(Stats(), "deadline"), 1);
}

TEST_P(WaitStoreContractTest, ResultIsNotKeptWithoutATimeForIt) {
  ASSERT_TRUE(Enqueue({{.key = "a", .record = "r", .args = "x"}}).ok());
  Settle({Over("a", Claim().fence)},
         /*retain_us=*/0);
  const StoredWait wait = Get("a");
  EXPECT_FALSE(wait.exists());
  EXPECT_EQ(wait.args, "");
  EXPECT_EQ(wait.value, "");
  EXPECT_EQ(Stats().kept, 0);
  EXPECT_EQ(Count(Stats(), "success"), 1);
}

TEST_P(WaitStoreContractTest, ResultIsForgottenAfterItsTime) {
  Add({"a", "b"});
  const int64_t fence = Claim().fence;
  Settle({Over("a", fence), Over("b", fence, "success", "")},
         /*retain_us=*/1000);
  subject_->Pass(absl::Milliseconds(50));
  // The key may be used again.
  EXPECT_THAT(ValueOrFail(Enqueue({{.key = "a"}})).created, ElementsAre(true));
  EXPECT_EQ(Get("a").value, "");
  // A settle forgets up to two results for each of its items.
  Settle({{.key = "none", .fence = 1}});
  EXPECT_FALSE(Get("b").exists());
  EXPECT_TRUE(Get("a").exists());
  EXPECT_EQ(Stats().kept, 0);
}

TEST_P(WaitStoreContractTest, BatchesOfAThousandPass) {
  std::vector<std::string> keys;
  keys.reserve(1000);
  for (int i = 0; i < 1000; ++i) keys.push_back(absl::StrCat("k", i));
  Add(keys);
  const ClaimReply claimed = Claim(1000);
  ASSERT_THAT(claimed.waits, SizeIs(1000));
  std::vector<SettleItem> items;
  for (const ClaimedWait& wait : claimed.waits) {
    items.push_back({.key = wait.key,
                     .fence = claimed.fence,
                     .record = wait.record + " more"});
  }
  EXPECT_THAT(Settle(std::move(items)).lost, IsEmpty());
  EXPECT_THAT(Claim(1000).waits, SizeIs(1000));
}

}  // namespace
}  // namespace waiter::wait_store_contract_test
