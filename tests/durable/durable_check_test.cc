// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/bent_wait_store.h"
#include "tests/durable/durable_world.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/poll.h"

namespace waiter::durable_check_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The number of partitions in a `DurableWorld`.
constexpr int kPartitions = 2;

class DurableCheckTest : public testing::Test {
 protected:
  absl::StatusOr<DurableCheckReport> Check(bool repairs = false,
                                           int64_t partitions = kPartitions) {
    return world_.Await<DurableCheckReport>([&](auto callback) {
      CheckDurableWaits(store_, DurableWorld::kName,
                        {.partitions = partitions, .repairs = repairs},
                        std::move(callback));
    });
  }

  WaitBook::Partition& Book(int index) {
    return world_.book->Of(
        {.space = "default", .name = DurableWorld::kName, .index = index});
  }
  // Returns the partition that has the record of a key.
  WaitBook::Partition& BookOf(const std::string& key) {
    for (int i = 0; i < kPartitions; ++i) {
      if (Book(i).records.contains(key)) return Book(i);
    }
    ADD_FAILURE() << "no record of " << key;
    return Book(0);
  }

  // Enqueues six waits, and runs until a, b and c have been delivered.
  void EnqueueAndEndSome() {
    world_.function = [](const DurablePoll& poll) -> Poll<std::string> {
      if (poll.key < "d") return Success("value");
      return NotReady();
    };
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
      (void)world_.Enqueue({.key = key, .args = "args"});
    }
    world_.AddWorker();
    world_.Run(absl::Seconds(5));
    world_.worker(0).waits().Drain(absl::ZeroDuration());
    world_.Run(absl::Seconds(5));
    ASSERT_EQ(world_.deliveries.size(), 3);
  }

  // Expects only this finding, and that a repair removes it.
  void ExpectOnly(WaitFault fault, const std::string& key) {
    const DurableCheckReport report = ValueOrFail(Check());
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].fault, fault);
    EXPECT_EQ(report.findings[0].key, key);
    EXPECT_EQ(report.found, 1);
    EXPECT_FALSE(report.is_clean());
    // A check without repairs changes nothing.
    EXPECT_EQ(Check()->found, 1);
    EXPECT_EQ(Check(/*repairs=*/true)->found, 1);
    const DurableCheckReport after = ValueOrFail(Check());
    EXPECT_THAT(after.findings, IsEmpty());
    EXPECT_TRUE(after.is_clean());
  }

  DurableWorld world_;
  const std::shared_ptr<BentWaitStore> store_ = std::make_shared<BentWaitStore>(
      std::make_shared<MemoryWaitStore>(world_.clock, world_.book));
};

TEST_F(DurableCheckTest, SoundWaitsAreClean) {
  EnqueueAndEndSome();
  const DurableCheckReport report = ValueOrFail(Check());
  EXPECT_TRUE(report.is_clean());
  EXPECT_EQ(report.records, 6);
  EXPECT_EQ(report.found, 0);
  EXPECT_EQ(report.uncounted, 0);
  ASSERT_THAT(report.servers, SizeIs(1));
  EXPECT_EQ(report.servers[0].description, "a book");
}

TEST_F(DurableCheckTest, RecordThatIsGone) {
  EnqueueAndEndSome();
  WaitBook::Partition& book = BookOf("d");
  book.records.erase("d");
  book.args.erase("d");
  ExpectOnly(WaitFault::kNoRecord, "d");
  EXPECT_FALSE(book.due.contains("d"));
  EXPECT_EQ(book.counters["orphans"], 1);
}

TEST_F(DurableCheckTest, PendingRecordThatNobodyFindsIsPolledAfterARepair) {
  EnqueueAndEndSome();
  BookOf("d").due.erase("d");
  ExpectOnly(WaitFault::kAdrift, "d");
  const auto polls = world_.polls.size();
  world_.function = [](const DurablePoll&) { return Success("value"); };
  world_.AddWorker();
  world_.Run(absl::Seconds(30));
  EXPECT_GT(world_.polls.size(), polls);
  EXPECT_EQ(world_.deliveries.size(), 6);
  EXPECT_TRUE(Check()->is_clean());
}

TEST_F(DurableCheckTest, DeliveredRecordThatIsNotKeptIsKeptForADay) {
  EnqueueAndEndSome();
  WaitBook::Partition& book = BookOf("a");
  book.done.erase("a");
  ExpectOnly(WaitFault::kAdrift, "a");
  EXPECT_GT(book.done["a"],
            MemoryWaitStore::StoreTime(world_.clock) + 86'000'000'000);
  EXPECT_FALSE(book.due.contains("a"));
}

TEST_F(DurableCheckTest, DeliveredWaitThatIsStillPending) {
  EnqueueAndEndSome();
  BookOf("a").due["a"] = 0;
  ExpectOnly(WaitFault::kStillPending, "a");
  WaitBook::Partition& book = BookOf("b");
  book.done.erase("b");
  book.due["b"] = 0;
  ExpectOnly(WaitFault::kStillPending, "b");
  EXPECT_TRUE(book.done.contains("b"));
}

TEST_F(DurableCheckTest, PendingWaitThatIsKeptAsDelivered) {
  EnqueueAndEndSome();
  WaitBook::Partition& both = BookOf("d");
  both.done["d"] = 0;
  ExpectOnly(WaitFault::kNotDelivered, "d");
  EXPECT_FALSE(both.done.contains("d"));
  WaitBook::Partition& kept = BookOf("e");
  kept.due.erase("e");
  kept.done["e"] = 0;
  ExpectOnly(WaitFault::kNotDelivered, "e");
  EXPECT_TRUE(kept.due.contains("e"));
}

TEST_F(DurableCheckTest, KeptWaitWithoutARecord) {
  EnqueueAndEndSome();
  Book(0).done["none"] = MemoryWaitStore::StoreTime(world_.clock);
  ExpectOnly(WaitFault::kKeptNothing, "none");
}

TEST_F(DurableCheckTest, LeftoversOfWaitsThatAreGone) {
  EnqueueAndEndSome();
  Book(0).args["none"] = "args";
  ExpectOnly(WaitFault::kLeftover, "none");
  Book(0).values["none"] = "value";
  ExpectOnly(WaitFault::kLeftover, "none");
  Book(0).crashes["none"] = 1;
  ExpectOnly(WaitFault::kLeftover, "none");
  Book(0).marks["none"] = 1;
  ExpectOnly(WaitFault::kLeftover, "none");
  Book(0).cancelled.insert("none");
  ExpectOnly(WaitFault::kLeftover, "none");
  Book(0).notified["none"] = false;
  ExpectOnly(WaitFault::kLeftover, "none");
  BookOf("a").marks["a"] = 1;
  ExpectOnly(WaitFault::kLeftover, "a");
  EXPECT_EQ(BookOf("a").args["a"], "args");
  BookOf("d").marks["d"] = 1;
  BookOf("d").crashes["d"] = 1;
  EXPECT_TRUE(Check()->is_clean());
}

TEST_F(DurableCheckTest, WaitsThatVanishedAreMissing) {
  EnqueueAndEndSome();
  WaitBook::Partition& book = BookOf("d");
  book.records.erase("d");
  book.args.erase("d");
  book.due.erase("d");
  ExpectOnly(WaitFault::kMiscounted, "");
  EXPECT_EQ(book.counters["orphans"], 1);
}

TEST_F(DurableCheckTest, CountersThatAreGone) {
  EnqueueAndEndSome();
  WaitBook::Partition& book = BookOf("d");
  const auto pending = static_cast<int64_t>(book.due.size());
  book.counters.clear();
  const absl::StatusOr<DurableCheckReport> report = Check();
  ASSERT_THAT(report->findings, SizeIs(1));
  EXPECT_EQ(report->findings[0].missing, -pending);
  ExpectOnly(WaitFault::kMiscounted, "");
}

TEST_F(DurableCheckTest, PartitionThatMovesIsCountedRoughly) {
  EnqueueAndEndSome();
  int steps = 0;
  int64_t missing = 0;
  // Pretends that each partition takes two steps, and that a wait ends between
  // them.
  store_->check = [&](absl::StatusOr<CheckReply>& reply) {
    reply->enqueued += missing;
    reply->fence += ++steps;
    if (steps % 2 == 1) {
      reply->cursor = "1:5";
    } else {
      reply->pending = 0;
      reply->records = 0;
      ++reply->ended;
    }
  };
  absl::StatusOr<DurableCheckReport> report = Check();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->findings, IsEmpty());
  EXPECT_EQ(report->uncounted, 2);
  EXPECT_EQ(report->records, 6);
  missing = 100;
  report = Check();
  EXPECT_THAT(report->findings, SizeIs(2));
  missing = -100;
  report = Check();
  EXPECT_THAT(report->findings, SizeIs(2));
}

// A wait may look damaged to a step only because it was about to change.
TEST_F(DurableCheckTest, FindingThatIsSoundAtTheSecondLookDoesNotCount) {
  EnqueueAndEndSome();
  store_->check = [&](absl::StatusOr<CheckReply>& reply) {
    for (const char* key : {"a", "d", "none"}) reply->keys.emplace_back(key);
  };
  EXPECT_THAT(ValueOrFail(Check(/*repairs=*/true)).findings, IsEmpty());
  EXPECT_TRUE(BookOf("a").done.contains("a"));
  EXPECT_TRUE(BookOf("d").due.contains("d"));
}

TEST_F(DurableCheckTest, WorkersThatGoOnAreNotDamage) {
  world_.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.context.attempt % 3 == 0) return Success("value");
    return NotReady();
  };
  world_.policy.backoff = Every(absl::Seconds(1));
  world_.options.retain = absl::Seconds(2);
  world_.AddWorker();
  world_.AddWorker();
  for (int i = 0; i < 300; ++i) {
    (void)world_.Enqueue({.key = absl::StrCat("k", i), .args = "args"});
    if (i == 150) world_.worker(0).Kill();
    world_.Run(absl::Milliseconds(100));
    const DurableCheckReport report =
        ValueOrFail(Check(/*repairs=*/i % 2 == 0));
    ASSERT_TRUE(report.is_clean())
        << i << ": " << ToString(report.findings.front());
  }
  EXPECT_GT(world_.deliveries.size(), 100);
}

TEST_F(DurableCheckTest, MoreFindingsThanAReportHoldsAreCountedAndRepaired) {
  for (int i = 0; i < 1500; ++i) Book(1).args[absl::StrCat("k", i)] = "args";
  const DurableCheckReport report = ValueOrFail(Check(/*repairs=*/true));
  EXPECT_THAT(report.findings, SizeIs(1000));
  EXPECT_EQ(report.found, 1500);
  EXPECT_THAT(Book(1).args, IsEmpty());
}

TEST_F(DurableCheckTest, FaultsOfTheServerAreInTheReport) {
  EnqueueAndEndSome();
  world_.book->server.faults = {"appendonly is no"};
  absl::StatusOr<DurableCheckReport> report = Check();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->servers[0].faults, ElementsAre("appendonly is no"));
  EXPECT_EQ(report->found, 0);
  EXPECT_FALSE(report->is_clean());
  // The check also runs on a server that refuses the name.
  store_->open = [](absl::StatusOr<int64_t>& reply) {
    reply = absl::FailedPreconditionError("may delete waits");
  };
  report = Check();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->records, 6);
}

TEST_F(DurableCheckTest, RefusalWithoutAFaultOfTheServerIsAnError) {
  store_->open = [](absl::StatusOr<int64_t>& reply) {
    reply = absl::FailedPreconditionError("wrong type");
  };
  EXPECT_THAT(Check().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(DurableCheckTest, ServerThatIsTooOldIsAskedNoMore) {
  world_.book->server.is_usable = false;
  world_.book->server.faults = {"its version is 6.2"};
  store_->open = [](absl::StatusOr<int64_t>& reply) {
    ADD_FAILURE();
    reply = 0;
  };
  EXPECT_FALSE(ValueOrFail(Check()).is_clean());
}

TEST_F(DurableCheckTest, ServersOfSeveralPartitionsAreListedOnce) {
  int calls = 0;
  store_->inspect = [&](absl::StatusOr<WaitServer>& reply) {
    reply->id = absl::StrCat(calls++ / 2);
  };
  EXPECT_THAT(ValueOrFail(Check(/*repairs=*/false, /*partitions=*/4)).servers,
              SizeIs(2));
}

TEST_F(DurableCheckTest, EveryErrorOfTheStoreIsPassedOn) {
  EnqueueAndEndSome();
  Book(0).args["none"] = "args";
  const absl::Status error = absl::UnavailableError("cut off");
  const std::vector<std::function<void()>> breaks = {
      [&] { store_->inspect = [&](auto& reply) { reply = error; }; },
      [&] { store_->open = [&](auto& reply) { reply = error; }; },
      [&] { store_->check = [&](auto& reply) { reply = error; }; },
      [&] { store_->examine = [&](auto& reply) { reply = error; }; },
      [&] { store_->down = error; }};
  for (const std::function<void()>& breaks_one : breaks) {
    breaks_one();
    EXPECT_EQ(Check().status(), error);
    store_->inspect = nullptr;
    store_->open = nullptr;
    store_->check = nullptr;
    store_->examine = nullptr;
  }
}

TEST_F(DurableCheckTest, WrongArgumentsAreRefused) {
  EXPECT_THAT(Check(/*repairs=*/false, /*partitions=*/0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EnqueueAndEndSome();
  EXPECT_THAT(Check(/*repairs=*/false, /*partitions=*/3).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("2 partitions in the store, and 3")));
  for (const auto& [space, name] :
       std::vector<std::pair<std::string, std::string>>{{"", "n"},
                                                        {"s", "a b"}}) {
    absl::Status status;
    CheckDurableWaits(store_, name, {.space = space},
                      [&](const auto& got) { status = got.status(); });
    world_.Run(absl::Seconds(1));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(DurableFindingTest, EachSaysWhatItMeans) {
  for (const WaitFault fault :
       {WaitFault::kNoRecord, WaitFault::kAdrift, WaitFault::kStillPending,
        WaitFault::kNotDelivered, WaitFault::kKeptNothing,
        WaitFault::kLeftover}) {
    EXPECT_THAT(ToString(DurableFinding{.fault = fault, .key = "a"}),
                AllOf(testing::StartsWith("a "), Not(HasSubstr("\n")),
                      SizeIs(testing::Gt(20))));
    EXPECT_NE(ToString(fault), "unknown");
  }
  EXPECT_THAT(
      ToString(DurableFinding{
          .fault = WaitFault::kMiscounted, .partition = 3, .missing = 5}),
      HasSubstr("partition 3: 5 waits were enqueued"));
  EXPECT_THAT(
      ToString(DurableFinding{
          .fault = WaitFault::kMiscounted, .partition = 3, .missing = -5}),
      HasSubstr("partition 3: 5 more waits"));
}

}  // namespace
}  // namespace waiter::durable_check_test
