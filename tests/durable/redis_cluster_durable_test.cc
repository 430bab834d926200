// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durable waits and shared budgets on a real cluster, whose slots move and
// whose nodes are killed and replaced.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
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
#include "tests/durable/live_workers.h"
#include "tests/support/joining_thread.h"
#include "tests/support/redis_cluster_servers.h"
#include "tests/support/redis_server.h"
#include "tests/support/status_matchers.h"
#include "waiter/clock.h"
#include "waiter/durable/redis_store.h"
#include "waiter/durable/store.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/testing/gtest.h"

namespace waiter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kPartitions = 24;

class RedisClusterDurableTest : public testing::Test, protected LiveWorkers {
 protected:
  RedisClusterDurableTest()
      : LiveWorkers(/*waits=*/300,
                    {.space = "space",
                     .threads = 2,
                     .partitions = kPartitions,
                     .lease = absl::Seconds(3)},
                    /*limit=*/absl::Seconds(30)) {}

  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    servers_.emplace();
  }
  void TearDown() override {
    workers_.clear();
    clusters_.clear();
    servers_.reset();
  }

  std::shared_ptr<RedisCluster> MakeCluster() {
    auto cluster = *RedisCluster::Make(servers_->Urls(),
                                       {.call_timeout = absl::Seconds(2)});
    clusters_.push_back(cluster);
    return cluster;
  }
  std::shared_ptr<WaitStore> MakeStore() override {
    return std::make_shared<RedisWaitStore>(MakeCluster());
  }

  int SlotOf(int partition) {
    const std::string slot = servers_->node(0).Run(
        {"CLUSTER", "KEYSLOT",
         absl::StrCat("waiter:{space/job/", partition, "}:due")});
    return std::stoi(slot.substr(slot.find_first_of("0123456789")));
  }

  int64_t Moved() const {
    int64_t moved = 0;
    for (const auto& cluster : clusters_) moved += cluster->State().moved;
    return moved;
  }

  std::optional<RedisClusterServers> servers_;
  std::vector<std::shared_ptr<RedisCluster>> clusters_;
};

TEST_F(RedisClusterDurableTest, SlotsAreThoseOfTheServers) {
  const auto cluster = MakeCluster();
  const RedisScript get("#!lua\nreturn redis.call('INCR', KEYS[1])");
  std::atomic<int> done = 0;
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) {
    keys.push_back(absl::StrCat("k", i));
    keys.push_back(absl::StrCat("a{", i, "}b{", i, "}"));
    keys.push_back(absl::StrCat("{}", i));
    keys.push_back(absl::StrCat("\xff{", i));
  }
  for (const std::string& key : keys) {
    cluster->Call(get, {key}, {}, [&](const absl::StatusOr<RedisReply>& reply) {
      EXPECT_TRUE(reply.ok()) << reply.status();
      ++done;
    });
  }
  EXPECT_EVENTUALLY(done == static_cast<int>(keys.size()));
  const RedisClusterState state = cluster->State();
  EXPECT_EQ(state.moved, 0);
  EXPECT_EQ(state.slots, 16384);
  EXPECT_EQ(state.nodes.size(), RedisClusterServers::kPrimaries);

  std::promise<absl::Status> crossed;
  cluster->Call(get, {"foo", "bar"}, {},
                [&](const absl::StatusOr<RedisReply>& reply) {
                  crossed.set_value(reply.status());
                });
  EXPECT_THAT(crossed.get_future().get(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::HasSubstr("CROSSSLOT")));
}

// Makes each call, one after the other. `take` returns a callback for a
// promise.
template <typename Take>
void UsePartition(WaitStore& store, const WaitPartition& partition,
                  const Take& take) {
  std::promise<absl::StatusOr<EnqueueReply>> enqueued;
  store.Enqueue({.partition = partition,
                 .most_pending = 10,
                 .items = {{.key = "x", .record = "r", .args = "a"},
                           {.key = "y", .record = "r"}}},
                take(enqueued));
  const auto created = enqueued.get_future().get();
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_THAT(created->created, ElementsAre(true, true));

  std::promise<absl::StatusOr<ClaimReply>> claimed;
  store.Claim({.partition = partition, .most = 10, .lease_us = 60'000'000},
              take(claimed));
  const auto claim = claimed.get_future().get();
  ASSERT_TRUE(claim.ok()) << claim.status();
  ASSERT_THAT(claim->waits, SizeIs(2));
  EXPECT_EQ(claim->waits[0].args, "a");

  std::promise<absl::StatusOr<SettleReply>> settled;
  store.Settle({.partition = partition,
                .lease_us = 60'000'000,
                .retain_us = 60'000'000,
                .items = {{.key = "x",
                           .fence = claim->fence,
                           .action = SettleAction::kEndUnheard,
                           .value = "v",
                           .reason = "success"},
                          {.key = "y",
                           .fence = claim->fence - 2,
                           .action = SettleAction::kRelease}}},
               take(settled));
  const auto settle = settled.get_future().get();
  ASSERT_TRUE(settle.ok()) << settle.status();
  EXPECT_THAT(settle->lost, ElementsAre("y"));

  std::promise<absl::StatusOr<std::vector<StoredWait>>> cancelled;
  store.Signal({.partition = partition, .keys = {"y"}}, take(cancelled));
  const auto cancel = cancelled.get_future().get();
  ASSERT_TRUE(cancel.ok()) << cancel.status();
  EXPECT_TRUE(cancel->at(0).is_cancelled);

  std::promise<absl::StatusOr<std::vector<StoredWait>>> got;
  store.Get(partition, {"x", "z"}, take(got));
  const auto waits = got.get_future().get();
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_EQ(waits->at(0).value, "v");
  EXPECT_FALSE(waits->at(1).exists());

  std::promise<absl::StatusOr<WaitStore::ScanReply>> scanned;
  store.Scan(partition, "0", take(scanned));
  const auto scan = scanned.get_future().get();
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_THAT(scan->waits, SizeIs(2));

  std::promise<absl::StatusOr<WaitStats>> counted;
  store.Stats(partition, take(counted));
  const auto stats = counted.get_future().get();
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->pending, 1);
  EXPECT_EQ(stats->kept, 1);

  std::promise<absl::StatusOr<int64_t>> marked;
  store.Mark(partition, "y", /*begins=*/true, take(marked));
  EXPECT_EQ(marked.get_future().get().value_or(-1), 1);
}

// The partitions are on three nodes, but all replies come on one thread.
TEST_F(RedisClusterDurableTest, StoreKeepsItsContract) {
  const auto store = MakeStore();
  std::atomic<int> inside = 0;
  std::atomic<int> overlaps = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Returns a callback for `out`.
  const auto take = [&]<typename T>(std::promise<absl::StatusOr<T>>& out) {
    return [&](absl::StatusOr<T> reply) {
      if (++inside != 1) ++overlaps;
      {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      --inside;
      out.set_value(std::move(reply));
    };
  };
  std::vector<JoiningThread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int index = caller; index < kPartitions; index += 4) {
        UsePartition(*store, {"space", "contract", index}, take);
      }
      std::promise<absl::StatusOr<int64_t>> opened;
      store->Open("space", "contract", kPartitions, take(opened));
      EXPECT_EQ(opened.get_future().get().value_or(-1), kPartitions);
      std::promise<absl::StatusOr<std::vector<std::string>>> beaten;
      store->Heartbeat({.space = "space", .worker = absl::StrCat("w", caller)},
                       take(beaten));
      const auto workers = beaten.get_future().get();
      ASSERT_TRUE(workers.ok()) << workers.status();
      EXPECT_THAT(*workers, testing::Contains(absl::StrCat("w", caller)));
    });
  }
  callers.clear();
  EXPECT_EQ(overlaps, 0);
  EXPECT_THAT(threads, SizeIs(1));
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0);
  EXPECT_EQ(clusters_[0]->State().nodes.size(),
            RedisClusterServers::kPrimaries);
}

TEST_F(RedisClusterDurableTest, WorkersShareTheWaitsOfAllNodes) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(1);
  ExpectAllResults();
  EXPECT_EQ(late(), 0);
  for (size_t i = 0; i < RedisClusterServers::kPrimaries; ++i) {
    EXPECT_THAT(servers_->node(i).Run({"CLUSTER", "COUNTKEYSINSLOT", "0"}),
                testing::Not(IsEmpty()));
    EXPECT_NE(servers_->node(i).Run({"DBSIZE"}), "0");
  }
}

TEST_F(RedisClusterDurableTest, SlotsMoveWhileTheirWaitsArePolled) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(1);
  for (int partition = 0; partition < kPartitions; partition += 3) {
    const int slot = SlotOf(partition);
    const size_t from = servers_->PrimaryOf(slot);
    servers_->MoveSlot(
        slot, from, (from + 1) % RedisClusterServers::kPrimaries,
        [] { std::this_thread::sleep_for(std::chrono::milliseconds(500)); });
  }
  ExpectAllResults();
  EXPECT_EQ(late(), 0);
  EXPECT_GT(Moved(), 0);
}

TEST_F(RedisClusterDurableTest, CallsFollowASlotOnItsWay) {
  const auto cluster = MakeCluster();
  const RedisScript add("#!lua\nreturn redis.call('INCR', KEYS[1])");
  const auto call = [&] {
    std::promise<absl::StatusOr<RedisReply>> reply;
    cluster->Call(add, {"foo"}, {}, [&](absl::StatusOr<RedisReply> got) {
      reply.set_value(std::move(got));
    });
    return reply.get_future().get();
  };
  EXPECT_EQ(call()->integer, 1);
  const size_t from = servers_->PrimaryOf(12182);
  const size_t to = (from + 1) % RedisClusterServers::kPrimaries;
  // The only key has moved, but the slot has not. The old node replies ASK, and
  // the new node does not have the script at first.
  servers_->MoveSlot(12182, from, to, [&] {
    EXPECT_EQ(call()->integer, 2);
    EXPECT_EQ(call()->integer, 3);
    EXPECT_EQ(cluster->State().asked, 2);
    servers_->node(to).Run({"SCRIPT", "FLUSH"});
    EXPECT_EQ(call()->integer, 4);
    EXPECT_EQ(cluster->State().moved, 0);
  });
  EXPECT_EQ(call()->integer, 5);
  EXPECT_EQ(cluster->State().moved, 1);
  EXPECT_EQ(call()->integer, 6);
  EXPECT_EQ(cluster->State().moved, 1);
}

// The enqueues are older than a second, so the replica has them. The last
// writes that the dead primary acknowledged may be lost. Then polls are
// repeated, and results are found and delivered again with the same idempotency
// key.
TEST_F(RedisClusterDurableTest, ReplicaOfAKilledPrimaryTakesOver) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(2);
  servers_->node(1).Kill();
  servers_->AwaitPrimary(1 + RedisClusterServers::kPrimaries);
  ExpectAllResults();
  for (const auto& cluster : clusters_) {
    EXPECT_EVENTUALLY(cluster->State().slots, 16384);
  }
  // The old primary comes back as a replica, and gets no calls.
  servers_->node(1).Start();
  Sleep(1);
  workers_.clear();
  AddWorker();
  EXPECT_EVENTUALLY(clusters_.back()->State().nodes.size(),
                    RedisClusterServers::kPrimaries);
}

// The old primary keeps running, loses the writes that it did not hand over,
// and redirects its callers to the new primary.
TEST_F(RedisClusterDurableTest, ReplicaTakesOverFromAPrimaryThatRuns) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(1);
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(servers_->node(i + RedisClusterServers::kPrimaries)
                  .Run({"CLUSTER", "FAILOVER", "TAKEOVER"}),
              "OK");
    Sleep(1);
  }
  ExpectAllResults();
  EXPECT_GT(Moved(), 0);
  EXPECT_EQ(servers_->PrimaryOf(0, 1), 0 + RedisClusterServers::kPrimaries);
}

TEST_F(RedisClusterDurableTest, PrimaryThatStandsStillIsReplaced) {
  EnqueueAll();
  AddWorker();
  AddWorker();
  Sleep(1);
  servers_->node(0).Pause();
  servers_->AwaitPrimary(RedisClusterServers::kPrimaries);
  Sleep(1);
  servers_->node(0).Resume();
  ExpectAllResults();
}

TEST_F(RedisClusterDurableTest, BudgetIsSharedAndSurvivesItsPrimary) {
  const auto make = [&] {
    return *SharedRateLimiter::Make(
        std::make_shared<RedisBudgetStore>(MakeCluster()),
        {.name = "api", .rate = 100});
  };
  const auto first = make();
  const auto second = make();
  const auto share = [&] {
    const MonotonicTime now = GetRealClock().MonotonicNow();
    first->Acquire(now);
    second->Acquire(now);
    return first->State().mode == SharedBudgetMode::kShared &&
           second->State().mode == SharedBudgetMode::kShared &&
           first->State().members == 2 && second->State().members == 2;
  };
  EXPECT_EVENTUALLY(share()) << first->State().last_error;
  const size_t primary = servers_->PrimaryOf(std::stoi(
      servers_->node(0).Run({"CLUSTER", "KEYSLOT", "waiter:rate:{api}"})));
  const size_t replica = primary + RedisClusterServers::kPrimaries;
  // Otherwise the replica may take over before a member misses the primary.
  servers_->node(replica).Pause();
  servers_->node(primary).Kill();
  EXPECT_EVENTUALLY(!share() &&
                    first->State().mode == SharedBudgetMode::kLocal);
  servers_->node(replica).Resume();
  servers_->AwaitPrimary(replica);
  const int64_t granted = first->State().granted;
  EXPECT_EVENTUALLY(share() && first->State().granted > granted)
      << first->State().last_error;
}

}  // namespace
}  // namespace waiter

#else

TEST(RedisClusterDurableTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif
