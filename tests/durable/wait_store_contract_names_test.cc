// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Holds every store of durable waits to the same contract: signals, marks,
// counts, names and workers.

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>
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
#include "waiter/clock.h"
#include "waiter/durable/store.h"

namespace waiter::wait_store_contract_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class WaitStoreNamesTest : public WaitStoreTest {};

INSTANTIATE_TEST_SUITE_P(Stores, WaitStoreNamesTest,
                         testing::ValuesIn(kStoreKinds),
                         [](const testing::TestParamInfo<StoreKind>& kind) {
                           return kind.param.name;
                         });

// Cancels and suspects.

TEST_P(WaitStoreNamesTest, CancelMakesAnUnheldWaitDue) {
  ASSERT_TRUE(Enqueue({{.key = "a", .delay_us = kMinute}}).ok());
  const std::vector<StoredWait> rows =
      Signal({"a", "none"}, WaitSignal::kCancel);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_TRUE(rows[0].is_cancelled);
  EXPECT_FALSE(rows[1].exists());
  EXPECT_FALSE(rows[1].is_cancelled);
  const ClaimReply claimed = Claim();
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_TRUE(claimed.waits[0].is_cancelled);
  // A holder that gives the wait back does not delay it.
  const SettleReply settled =
      Settle({{.key = "a", .fence = claimed.fence, .delay_us = kMinute}});
  EXPECT_LE(Get("a").due_us, settled.now_us);
}

TEST_P(WaitStoreNamesTest, CancelOfAHeldWaitIsToldToItsHolder) {
  Add({"a", "b"});
  const ClaimReply claimed = Claim();
  EXPECT_EQ(Signal({"a"}, WaitSignal::kCancel).at(0).due_us, claimed.fence);
  const SettleReply settled = Settle(
      {{.key = "a", .fence = claimed.fence, .action = SettleAction::kHold},
       {.key = "b", .fence = claimed.fence, .action = SettleAction::kHold}});
  EXPECT_THAT(settled.cancelled, ElementsAre("a"));
  Settle({Over("a", settled.fence, "cancelled", "")},
         /*retain_us=*/1000);
  EXPECT_FALSE(Get("a").is_cancelled);
}

TEST_P(WaitStoreNamesTest, CancelDoesNotTouchWhatHasEnded) {
  Add({"a"});
  Settle({Ended("a", Claim().fence, "")});
  const StoredWait before = Get("a");
  const StoredWait wait = Signal({"a"}, WaitSignal::kCancel).at(0);
  EXPECT_FALSE(wait.is_cancelled);
  EXPECT_EQ(wait.due_us, before.due_us);
}

TEST_P(WaitStoreNamesTest, NotifyMakesAnUnheldWaitDueOnce) {
  ASSERT_TRUE(Enqueue({{.key = "a", .delay_us = kMinute}}).ok());
  const std::vector<StoredWait> rows =
      Signal({"a", "none"}, WaitSignal::kNotify);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_FALSE(rows[0].is_cancelled);
  EXPECT_FALSE(rows[1].exists());
  const ClaimReply claimed = Claim();
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_TRUE(claimed.waits[0].is_notified);
  const SettleReply settled =
      Settle({{.key = "a", .fence = claimed.fence, .delay_us = kMinute}});
  EXPECT_GE(Get("a").due_us, settled.now_us + kMinute - 1);
}

TEST_P(WaitStoreNamesTest, NotifyOfAHeldWaitIsToldToItsNextHolder) {
  Add({"a"});
  const ClaimReply first = Claim();
  EXPECT_FALSE(first.waits.at(0).is_notified);
  EXPECT_EQ(Signal({"a"}, WaitSignal::kNotify).at(0).due_us, first.fence);
  const SettleReply settled =
      Settle({{.key = "a", .fence = first.fence, .delay_us = kMinute}});
  EXPECT_LE(Get("a").due_us, settled.now_us);
  const ClaimReply second = Claim();
  EXPECT_TRUE(second.waits.at(0).is_notified);
  Settle({{.key = "a", .fence = second.fence}});
  EXPECT_FALSE(Claim().waits.at(0).is_notified);
}

TEST_P(WaitStoreNamesTest, NotifyOutlivesAHolderThatVanished) {
  Add({"a"});
  Signal({"a"}, WaitSignal::kNotify);
  EXPECT_TRUE(ClaimBriefly().waits.at(0).is_notified);
  const ClaimReply claimed = Claim();
  EXPECT_TRUE(claimed.waits.at(0).is_notified);
  // A notification may come again while the wait is held.
  Signal({"a"}, WaitSignal::kNotify);
  const SettleReply settled =
      Settle({{.key = "a", .fence = claimed.fence, .delay_us = kMinute}});
  EXPECT_LE(Get("a").due_us, settled.now_us);
}

TEST_P(WaitStoreNamesTest, ForgetRemovesDeliveredResultsOnly) {
  ASSERT_TRUE(Enqueue({{.key = "pending", .delay_us = kMinute}}).ok());
  Add({"ended"});
  ASSERT_TRUE(Enqueue({{.key = "delivered", .args = "args"}}).ok());
  const ClaimReply claimed = Claim();
  ASSERT_THAT(claimed.waits, SizeIs(2));
  Settle({Ended("ended", claimed.fence, ""), Over("delivered", claimed.fence)},
         /*retain_us=*/kMinute);
  const std::vector<StoredWait> rows =
      Signal({"pending", "ended", "delivered", "none"}, WaitSignal::kForget);
  EXPECT_TRUE(rows.at(0).exists());
  EXPECT_TRUE(rows.at(1).exists());
  EXPECT_FALSE(rows.at(2).exists());
  EXPECT_EQ(rows.at(2).args, "");
  EXPECT_FALSE(rows.at(3).exists());
  ASSERT_TRUE(Enqueue({{.key = "delivered", .delay_us = kMinute}}).ok());
  EXPECT_EQ(Get("delivered").value, "");
}

TEST_P(WaitStoreNamesTest, WaitOfAnotherStoreKeepsItsAge) {
  const auto reply = Enqueue(
      {{.key = "a", .delay_us = kMinute, .record = "r", .age_us = 3'000'000}});
  ASSERT_TRUE(reply.ok());
  const StoredWait wait = Get("a");
  EXPECT_EQ(wait.record, absl::StrCat("0", reply->now_us - 3'000'000, " r"));
  EXPECT_GE(*wait.due_us, reply->now_us + kMinute - 1);
  EXPECT_LE(*wait.due_us, reply->now_us + kMinute);
}

TEST_P(WaitStoreNamesTest, NotifyLeavesNothingBehind) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  Signal({"a"}, WaitSignal::kNotify);
  Settle({Over("a", claimed.fence, "success", "")},
         /*retain_us=*/kMinute);
  EXPECT_EQ(Signal({"a"}, WaitSignal::kNotify).at(0).due_us, std::nullopt);
}

TEST_P(WaitStoreNamesTest, MarksAreCountedUntilTheyAreCleared) {
  Add({"a"});
  ClaimBriefly();
  ClaimBriefly();
  EXPECT_EQ(Mark("a", true), 1);
  EXPECT_EQ(Mark("a", true), 2);
  const ClaimReply claimed = ClaimBriefly();
  EXPECT_EQ(claimed.waits.at(0).marks, 2);
  EXPECT_EQ(claimed.waits.at(0).crashes, 2);
  EXPECT_EQ(Mark("a", false), 0);
  const ClaimReply cleared = Claim();
  EXPECT_EQ(cleared.waits.at(0).marks, 0);
  // The lease of `claimed` has ended, which is one crash.
  EXPECT_EQ(cleared.waits.at(0).crashes, 1);
}

// Reading.

TEST_P(WaitStoreNamesTest, StatsCountTheWaits) {
  const WaitStats none = Stats();
  EXPECT_EQ(none.pending, 0);
  EXPECT_EQ(none.next_us, std::nullopt);
  EXPECT_THAT(none.counters, IsEmpty());
  ASSERT_TRUE(Enqueue({{.key = "a"}, {.key = "b", .delay_us = kMinute}}).ok());
  const int64_t due = *Get("a").due_us;
  EXPECT_EQ(Stats().next_us, due);
  subject_->Pass(absl::Milliseconds(2500));
  const WaitStats stats = Stats();
  EXPECT_GT(stats.now_us, due + 2'000'000);
  EXPECT_EQ(stats.pending, 2);
  EXPECT_EQ(stats.overdue, 1);
}

TEST_P(WaitStoreNamesTest, PollsAreCountedAndNoEnds) {
  Add({"a"});
  const int64_t fence = Claim().fence;
  for (const int64_t polls : {3, 0, 4}) {
    const auto settled =
        Answer<SettleReply>([&](WaitStore& store, auto callback) {
          store.Settle({.partition = partition_,
                        .lease_us = kMinute,
                        .polls = polls,
                        .items = {{.key = "none", .fence = fence}}},
                       std::move(callback));
        });
    EXPECT_EQ(settled.status(), absl::OkStatus());
  }
  const WaitStats stats = Stats();
  EXPECT_EQ(stats.polls, 7);
  EXPECT_THAT(stats.counters, ElementsAre(std::pair("enqueued", 1)));
  const auto checked = Answer<CheckReply>([&](WaitStore& store, auto callback) {
    store.Check(partition_, "", std::move(callback));
  });
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->ended, 0);
}

TEST_P(WaitStoreNamesTest, ScanSeesEachWait) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back(absl::StrCat("k", i));
  for (size_t first = 0; first < keys.size(); first += 500) {
    const auto begin = keys.begin() + static_cast<ptrdiff_t>(first);
    Add({begin, begin + 500});
  }
  std::set<std::string> seen;
  std::string cursor = "0";
  int steps = 0;
  do {
    const auto step =
        Answer<WaitStore::ScanReply>([&](WaitStore& store, auto callback) {
          store.Scan(partition_, cursor, std::move(callback));
        });
    ASSERT_TRUE(step.ok()) << step.status();
    for (const StoredWait& wait : step->waits) {
      EXPECT_TRUE(wait.exists());
      EXPECT_TRUE(wait.due_us.has_value());
      seen.insert(wait.key);
    }
    cursor = step->cursor;
  } while (cursor != "0" && ++steps < 1000);
  EXPECT_EQ(seen, std::set<std::string>(keys.begin(), keys.end()));
}

TEST_P(WaitStoreNamesTest, CheckFindsNothingInSoundPartitions) {
  Add({"a", "b", "c"});
  const ClaimReply claimed = Claim(2);
  Signal({"c"}, WaitSignal::kCancel);
  Settle({Over(claimed.waits.at(0).key, claimed.fence)});
  CheckReply all;
  std::string cursor;
  int steps = 0;
  do {
    absl::StatusOr<CheckReply> step =
        Answer<CheckReply>([&](WaitStore& store, auto callback) {
          store.Check(partition_, cursor, std::move(callback));
        });
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_THAT(step->keys, IsEmpty());
    all.records += step->records;
    all.pending += step->pending;
    cursor = step->cursor;
    all.due = step->due;
    all.enqueued = step->enqueued;
    all.ended = step->ended;
  } while (!cursor.empty() && ++steps < 1000);
  EXPECT_EQ(all.records, 3);
  EXPECT_EQ(all.pending, 2);
  EXPECT_EQ(all.due, 2);
  EXPECT_EQ(all.enqueued, 3);
  EXPECT_EQ(all.ended, 1);
  const auto faults =
      Answer<std::vector<FaultyWait>>([&](WaitStore& store, auto callback) {
        store.Examine({.partition = partition_,
                       .keys = {"a", "b", "c", "none"},
                       .repairs = true},
                      std::move(callback));
      });
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_THAT(*faults, IsEmpty());
}

// Names, workers, servers, timers.

TEST_P(WaitStoreNamesTest, FirstToOpenANameDividesIt) {
  const auto open = [&](const std::string& name, int64_t partitions) {
    return Answer<int64_t>([&](WaitStore& store, auto callback) {
             store.Open(partition_.space, name, partitions,
                        std::move(callback));
           })
        .value_or(-1);
  };
  EXPECT_EQ(open("one", 16), 16);
  EXPECT_EQ(open("one", 8), 16);
  EXPECT_EQ(open("two", 8), 8);
}

TEST_P(WaitStoreNamesTest, WorkersHearOfEachOther) {
  const auto beat = [&](const std::string& worker, bool leaves = false) {
    return Answer<std::vector<std::string>>(
               [&](WaitStore& store, auto callback) {
                 store.Heartbeat({.space = partition_.space,
                                  .worker = worker,
                                  .leaves = leaves},
                                 std::move(callback));
               })
        .value_or(std::vector<std::string>());
  };
  EXPECT_THAT(beat("a"), ElementsAre("a"));
  EXPECT_THAT(beat("b"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(beat("a"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(beat("b", /*leaves=*/true), ElementsAre("a"));
  EXPECT_THAT(beat("b", /*leaves=*/true), ElementsAre("a"));
  EXPECT_THAT(beat("b"), UnorderedElementsAre("a", "b"));
}

TEST_P(WaitStoreNamesTest, SpaceHasItsNamesAndWorkers) {
  const auto describe = [&](const std::string& space) {
    return Answer<WaitSpace>([&](WaitStore& store, auto callback) {
             store.Describe(space, std::move(callback));
           })
        .value_or(WaitSpace{.names = {{"error", 0}}, .workers = {}});
  };
  const std::string& space = partition_.space;
  EXPECT_THAT(describe(space).names, IsEmpty());
  for (const auto& [name, partitions] : {std::pair("two", 8), {"one", 16}}) {
    EXPECT_TRUE(Answer<int64_t>([&](WaitStore& store, auto callback) {
                  store.Open(space, name, partitions, std::move(callback));
                }).ok());
  }
  EXPECT_TRUE(
      Answer<std::vector<std::string>>([&](WaitStore& store, auto callback) {
        store.Heartbeat({.space = space, .worker = "w"}, std::move(callback));
      }).ok());
  EXPECT_THAT(describe(space).names,
              ElementsAre(std::pair("one", 16), std::pair("two", 8)));
  EXPECT_THAT(describe(space).workers, ElementsAre("w"));
  EXPECT_THAT(describe(space + "x").names, IsEmpty());
  EXPECT_THAT(describe(space + "x").workers, IsEmpty());
}

TEST_P(WaitStoreNamesTest, ServerOfAPartitionHasAnId) {
  const absl::StatusOr<WaitServer> server =
      Answer<WaitServer>([&](WaitStore& store, auto callback) {
        store.Inspect(partition_, std::move(callback));
      });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE(server->id, "");
  EXPECT_NE(server->description, "");
  EXPECT_TRUE(server->is_usable);
}

TEST_P(WaitStoreNamesTest, TimerFiresOnceAndNotBeforeItsTime) {
  WaitStore& store = *subject_->store();
  const MonotonicTime time =
      store.clock().MonotonicNow() + std::chrono::milliseconds(30);
  std::promise<MonotonicTime> fired;
  // A second call would throw.
  store.RunAt(time, [&] { fired.set_value(store.clock().MonotonicNow()); });
  EXPECT_GE(Await(fired.get_future()), time);
  subject_->Pass(absl::Milliseconds(50));
}

TEST_P(WaitStoreNamesTest, CallbacksDoNotComeWithinTheCall) {
  std::promise<bool> promise;
  bool is_within = true;  // Used only by this thread.
  subject_->store()->Get(
      partition_, {"a"},
      [&, caller = std::this_thread::get_id()](const auto& /*rows*/) {
        promise.set_value(std::this_thread::get_id() == caller && is_within);
      });
  is_within = false;
  EXPECT_FALSE(Await(promise.get_future()));
}

}  // namespace
}  // namespace waiter::wait_store_contract_names_test
