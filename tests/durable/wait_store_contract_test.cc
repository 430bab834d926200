// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises of `WaitStore` on each of the stores: in memory, in an
// SQLite file, in PostgreSQL with and without PgBouncer, on Redis, on Valkey,
// and on a Redis Cluster.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
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
#include "tests/support/memory_wait_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"
#include "waiter/testing/simulated_clock.h"

#ifdef WAITER_HAS_SQLITE
#include "waiter/durable/sqlite_store.h"
#endif

#ifdef WAITER_HAS_LIBPQ
#include "tests/support/postgres_server.h"
#include "waiter/durable/postgres_store.h"
#endif

#ifdef WAITER_HAS_HIREDIS
#include "tests/support/redis_cluster_servers.h"
#include "tests/support/redis_server.h"
#include "waiter/durable/redis_store.h"
#include "waiter/redis/client.h"
#endif

namespace waiter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Microseconds.
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kMinute = 60 * kSecond;

// A store and its time.
class Subject {
 public:
  virtual ~Subject() = default;
  // Returns null if the store is not available here; `why_not()` says why.
  virtual WaitStore* store() = 0;
  virtual std::string why_not() { return ""; }
  // Returns after `time` has passed for the store.
  virtual void Pass(absl::Duration time) = 0;
};

class MemorySubject final : public Subject {
 public:
  WaitStore* store() override { return &store_; }
  void Pass(absl::Duration time) override { clock_.AdvanceTime(time); }

 private:
  SimulatedClock clock_{SimulatedClock::Mode::kManual};
  MemoryWaitStore store_{clock_, std::make_shared<WaitBook>()};
};

// A store on real time.
class LiveSubject : public Subject {
 public:
  WaitStore* store() override { return store_.get(); }
  std::string why_not() override { return "the server is not installed"; }
  void Pass(absl::Duration time) override {
    std::this_thread::sleep_for(absl::ToChronoMilliseconds(time));
  }

 protected:
  void Use(std::shared_ptr<WaitStore> store) { store_ = std::move(store); }

 private:
  std::shared_ptr<WaitStore> store_;
};

#ifdef WAITER_HAS_SQLITE

class SqliteSubject final : public LiveSubject {
 public:
  SqliteSubject() {
    const std::string path = testing::TempDir() + "/contract.db";
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path + suffix);
    }
    Use(*MakeSqliteWaitStore(path, {.syncs = false}));
  }
};

#endif

#ifdef WAITER_HAS_LIBPQ

class PostgresSubject final : public LiveSubject {
 public:
  explicit PostgresSubject(bool has_bouncer) {
    if (!PostgresServer::IsInstalled()) return;
    if (has_bouncer && !PgBouncer::IsInstalled()) return;
    server_ = std::make_unique<PostgresServer>();
    if (has_bouncer) bouncer_ = std::make_unique<PgBouncer>(*server_);
    Use(*MakePostgresWaitStore(has_bouncer ? bouncer_->Url() : server_->Url()));
  }

 private:
  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<PgBouncer> bouncer_;
};

#endif

#ifdef WAITER_HAS_HIREDIS

class RedisSubject final : public LiveSubject {
 public:
  explicit RedisSubject(RedisServer::Kind kind) {
    if (!RedisServer::IsInstalled(kind)) return;
    server_ = std::make_unique<RedisServer>(std::vector<std::string>(), kind);
    Use(std::make_shared<RedisWaitStore>(*RedisClient::Make(server_->Url())));
  }

 private:
  std::unique_ptr<RedisServer> server_;
};

class ClusterSubject final : public LiveSubject {
 public:
  ClusterSubject() {
    if (!RedisServer::IsInstalled()) return;
    servers_ = std::make_unique<RedisClusterServers>();
    Use(std::make_shared<RedisWaitStore>(
        *RedisCluster::Make(servers_->Urls())));
  }

 private:
  std::unique_ptr<RedisClusterServers> servers_;
};

#endif

struct Kind {
  const char* name;
  std::unique_ptr<Subject> (*make)();

  friend void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
  }
};

constexpr Kind kKinds[] = {
    {"Memory",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<MemorySubject>();
     }},
#ifdef WAITER_HAS_SQLITE
    {"Sqlite",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<SqliteSubject>();
     }},
#endif
#ifdef WAITER_HAS_LIBPQ
    {"Postgres",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<PostgresSubject>(/*has_bouncer=*/false);
     }},
    {"PgBouncer",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<PostgresSubject>(/*has_bouncer=*/true);
     }},
#endif
#ifdef WAITER_HAS_HIREDIS
    {"Redis",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<RedisSubject>(RedisServer::Kind::kRedis);
     }},
    {"Valkey",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<RedisSubject>(RedisServer::Kind::kValkey);
     }},
    {"RedisCluster",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<ClusterSubject>();
     }},
#endif
};

// Each test has its own space in the store, which all of them share.
class WaitStoreContractTest : public testing::TestWithParam<Kind> {
 protected:
  static void TearDownTestSuite() { Subjects().clear(); }

  void SetUp() override {
    std::unique_ptr<Subject>& subject = Subjects()[GetParam().name];
    if (subject == nullptr) subject = GetParam().make();
    if (subject->store() == nullptr) GTEST_SKIP() << subject->why_not();
    subject_ = subject.get();
    static int spaces = 0;
    partition_ = {.space = absl::StrCat("space", ++spaces), .name = "n"};
  }

  // Returns the store's reply.
  template <typename T>
  absl::StatusOr<T> Answer(
      const std::function<void(WaitStore&, WaitStore::Callback<T>)>& ask) {
    std::promise<absl::StatusOr<T>> promise;
    ask(*subject_->store(),
        [&](absl::StatusOr<T> reply) { promise.set_value(std::move(reply)); });
    return Await(promise.get_future());
  }
  // Passes time until there is a value.
  template <typename T>
  T Await(std::future<T> value) {
    while (value.wait_for(std::chrono::seconds(0)) !=
           std::future_status::ready) {
      subject_->Pass(absl::Milliseconds(1));
    }
    return value.get();
  }

  absl::StatusOr<EnqueueReply> Enqueue(std::vector<EnqueueItem> items,
                                       int64_t most_pending = 10'000) {
    return Answer<EnqueueReply>([&](WaitStore& store, auto callback) {
      store.Enqueue({.partition = partition_,
                     .most_pending = most_pending,
                     .items = std::move(items)},
                    std::move(callback));
    });
  }
  // Adds waits that are due immediately.
  void Add(const std::vector<std::string>& keys) {
    std::vector<EnqueueItem> items;
    items.reserve(keys.size());
    for (const std::string& key : keys) {
      items.push_back({.key = key, .record = "r"});
    }
    const absl::StatusOr<EnqueueReply> reply = Enqueue(std::move(items));
    EXPECT_EQ(reply.status(), absl::OkStatus());
  }
  ClaimReply Claim(int64_t most = 100, int64_t lease_us = kMinute) {
    absl::StatusOr<ClaimReply> reply = Answer<ClaimReply>([&](WaitStore& store,
                                                              auto callback) {
      store.Claim({.partition = partition_, .most = most, .lease_us = lease_us},
                  std::move(callback));
    });
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.value_or(ClaimReply());
  }
  // Claims with a lease that has ended when this returns.
  ClaimReply ClaimBriefly() {
    ClaimReply reply = Claim(100, 1000);
    subject_->Pass(absl::Milliseconds(50));
    return reply;
  }
  SettleReply Settle(std::vector<SettleItem> items,
                     int64_t retain_us = kMinute) {
    absl::StatusOr<SettleReply> reply =
        Answer<SettleReply>([&](WaitStore& store, auto callback) {
          store.Settle({.partition = partition_,
                        .lease_us = kMinute,
                        .retain_us = retain_us,
                        .items = std::move(items)},
                       std::move(callback));
        });
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.value_or(SettleReply());
  }
  std::vector<StoredWait> Signal(std::vector<std::string> keys,
                                 WaitSignal signal) {
    return Rows([&](WaitStore& store, auto callback) {
      store.Signal(
          {.partition = partition_, .keys = std::move(keys), .signal = signal},
          std::move(callback));
    });
  }
  StoredWait Get(const std::string& key) {
    return Rows([&](WaitStore& store, auto callback) {
             store.Get(partition_, {key}, std::move(callback));
           })
        .at(0);
  }
  std::vector<StoredWait> Rows(
      const std::function<void(
          WaitStore&, WaitStore::Callback<std::vector<StoredWait>>)>& ask) {
    absl::StatusOr<std::vector<StoredWait>> rows =
        Answer<std::vector<StoredWait>>(ask);
    EXPECT_EQ(rows.status(), absl::OkStatus());
    return rows.value_or(std::vector<StoredWait>(1));
  }
  WaitStats Stats() {
    absl::StatusOr<WaitStats> stats =
        Answer<WaitStats>([&](WaitStore& store, auto callback) {
          store.Stats(partition_, std::move(callback));
        });
    EXPECT_EQ(stats.status(), absl::OkStatus());
    return stats.value_or(WaitStats());
  }
  int64_t Mark(const std::string& key, bool begins) {
    return Answer<int64_t>([&](WaitStore& store, auto callback) {
             store.Mark(partition_, key, begins, std::move(callback));
           })
        .value_or(-1);
  }

  static std::vector<std::string> KeysOf(const ClaimReply& reply) {
    std::vector<std::string> keys;
    keys.reserve(reply.waits.size());
    for (const ClaimedWait& wait : reply.waits) keys.push_back(wait.key);
    return keys;
  }
  static int64_t Count(const WaitStats& stats, const std::string& name) {
    for (const auto& [counter, count] : stats.counters) {
      if (counter == name) return count;
    }
    return 0;
  }

  Subject* subject_ = nullptr;
  WaitPartition partition_;

 private:
  static std::map<std::string, std::unique_ptr<Subject>>& Subjects() {
    static auto& subjects =
        *new std::map<std::string, std::unique_ptr<Subject>>;
    return subjects;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, WaitStoreContractTest,
                         testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Kind>& kind) {
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
  const absl::StatusOr<EnqueueReply> reply =
      Enqueue({{.key = "a", .delay_us = 3'000'000'001},
               {.key = "b", .delay_us = 876'000 * 60 * kMinute}});
  ASSERT_TRUE(reply.ok()) << reply.status();
  for (const auto& [key, delay] :
       {std::pair("a", 3'000'000'001), {"b", 876'000 * 60 * kMinute}}) {
    const StoredWait wait = Get(key);
    ASSERT_TRUE(wait.due_us.has_value());
    // The time is even, because no worker holds the wait.
    const int64_t due = reply->now_us + delay;
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
  SettleReply settled = Settle({{.key = "a",
                                 .fence = claimed.fence,
                                 .action = SettleAction::kEnd,
                                 .record = "1ended",
                                 .value = "value",
                                 .reason = "success"}});
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
  const absl::StatusOr<EnqueueReply> again = Enqueue({{.key = "a"}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->created, ElementsAre(false));
}

TEST_P(WaitStoreContractTest, ResultThatIsNotDeliveredIsClaimedAgain) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  const SettleReply settled = Settle({{.key = "a",
                                       .fence = claimed.fence,
                                       .action = SettleAction::kEnd,
                                       .record = "1ended",
                                       .value = "value",
                                       .reason = "success"}});
  Settle({{.key = "a", .fence = settled.fence}});
  const ClaimReply again = Claim();
  ASSERT_THAT(again.waits, SizeIs(1));
  EXPECT_EQ(again.waits[0].record, "1ended");
  EXPECT_EQ(Get("a").value, "value");
}

TEST_P(WaitStoreContractTest, EndThatNobodyHearsIsDeliveredAtOnce) {
  Add({"a"});
  EXPECT_THAT(Settle({{.key = "a",
                       .fence = Claim().fence,
                       .action = SettleAction::kEndUnheard,
                       .record = "2over",
                       .value = "value",
                       .reason = "deadline"}})
                  .lost,
              IsEmpty());
  EXPECT_EQ(Get("a").due_us, std::nullopt);
  EXPECT_EQ(Get("a").value, "value");
  EXPECT_EQ(Stats().kept, 1);
  EXPECT_EQ(Count(Stats(), "deadline"), 1);
}

TEST_P(WaitStoreContractTest, ResultIsNotKeptWithoutATimeForIt) {
  ASSERT_TRUE(Enqueue({{.key = "a", .record = "r", .args = "x"}}).ok());
  Settle({{.key = "a",
           .fence = Claim().fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .value = "value",
           .reason = "success"}},
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
  Settle({{.key = "a",
           .fence = fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .value = "value",
           .reason = "success"},
          {.key = "b",
           .fence = fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .reason = "success"}},
         /*retain_us=*/1000);
  subject_->Pass(absl::Milliseconds(50));
  // The key may be used again.
  const absl::StatusOr<EnqueueReply> again = Enqueue({{.key = "a"}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->created, ElementsAre(true));
  EXPECT_EQ(Get("a").value, "");
  // A settle forgets up to two results for each of its items.
  Settle({{.key = "none", .fence = 1}});
  EXPECT_FALSE(Get("b").exists());
  EXPECT_TRUE(Get("a").exists());
  EXPECT_EQ(Stats().kept, 0);
}

TEST_P(WaitStoreContractTest, BatchesOfAThousandPass) {
  std::vector<std::string> keys;
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

// Cancels and suspects.

TEST_P(WaitStoreContractTest, CancelMakesAnUnheldWaitDue) {
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

TEST_P(WaitStoreContractTest, CancelOfAHeldWaitIsToldToItsHolder) {
  Add({"a", "b"});
  const ClaimReply claimed = Claim();
  EXPECT_EQ(Signal({"a"}, WaitSignal::kCancel).at(0).due_us, claimed.fence);
  const SettleReply settled = Settle(
      {{.key = "a", .fence = claimed.fence, .action = SettleAction::kHold},
       {.key = "b", .fence = claimed.fence, .action = SettleAction::kHold}});
  EXPECT_THAT(settled.cancelled, ElementsAre("a"));
  Settle({{.key = "a",
           .fence = settled.fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .reason = "cancelled"}},
         /*retain_us=*/1000);
  EXPECT_FALSE(Get("a").is_cancelled);
}

TEST_P(WaitStoreContractTest, CancelDoesNotTouchWhatHasEnded) {
  Add({"a"});
  Settle({{.key = "a",
           .fence = Claim().fence,
           .action = SettleAction::kEnd,
           .record = "1ended",
           .reason = "success"}});
  const StoredWait before = Get("a");
  const StoredWait wait = Signal({"a"}, WaitSignal::kCancel).at(0);
  EXPECT_FALSE(wait.is_cancelled);
  EXPECT_EQ(wait.due_us, before.due_us);
}

TEST_P(WaitStoreContractTest, NotifyMakesAnUnheldWaitDueOnce) {
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

TEST_P(WaitStoreContractTest, NotifyOfAHeldWaitIsToldToItsNextHolder) {
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

TEST_P(WaitStoreContractTest, NotifyOutlivesAHolderThatVanished) {
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

TEST_P(WaitStoreContractTest, ForgetRemovesDeliveredResultsOnly) {
  ASSERT_TRUE(Enqueue({{.key = "pending", .delay_us = kMinute}}).ok());
  Add({"ended"});
  ASSERT_TRUE(Enqueue({{.key = "delivered", .args = "args"}}).ok());
  const ClaimReply claimed = Claim();
  ASSERT_THAT(claimed.waits, SizeIs(2));
  Settle({{.key = "ended",
           .fence = claimed.fence,
           .action = SettleAction::kEnd,
           .record = "1ended",
           .reason = "success"},
          {.key = "delivered",
           .fence = claimed.fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .value = "value",
           .reason = "success"}},
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

TEST_P(WaitStoreContractTest, WaitOfAnotherStoreKeepsItsAge) {
  const auto reply = Enqueue(
      {{.key = "a", .delay_us = kMinute, .record = "r", .age_us = 3'000'000}});
  ASSERT_TRUE(reply.ok());
  const StoredWait wait = Get("a");
  EXPECT_EQ(wait.record, absl::StrCat("0", reply->now_us - 3'000'000, " r"));
  EXPECT_GE(*wait.due_us, reply->now_us + kMinute - 1);
  EXPECT_LE(*wait.due_us, reply->now_us + kMinute);
}

TEST_P(WaitStoreContractTest, NotifyLeavesNothingBehind) {
  Add({"a"});
  const ClaimReply claimed = Claim();
  Signal({"a"}, WaitSignal::kNotify);
  Settle({{.key = "a",
           .fence = claimed.fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .reason = "success"}},
         /*retain_us=*/kMinute);
  EXPECT_EQ(Signal({"a"}, WaitSignal::kNotify).at(0).due_us, std::nullopt);
}

TEST_P(WaitStoreContractTest, MarksAreCountedUntilTheyAreCleared) {
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

TEST_P(WaitStoreContractTest, StatsCountTheWaits) {
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

TEST_P(WaitStoreContractTest, PollsAreCountedAndNoEnds) {
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

TEST_P(WaitStoreContractTest, ScanSeesEachWait) {
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

TEST_P(WaitStoreContractTest, CheckFindsNothingInSoundPartitions) {
  Add({"a", "b", "c"});
  const ClaimReply claimed = Claim(2);
  Signal({"c"}, WaitSignal::kCancel);
  Settle({{.key = claimed.waits.at(0).key,
           .fence = claimed.fence,
           .action = SettleAction::kEndUnheard,
           .record = "2over",
           .value = "value",
           .reason = "success"}});
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

TEST_P(WaitStoreContractTest, FirstToOpenANameDividesIt) {
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

TEST_P(WaitStoreContractTest, WorkersHearOfEachOther) {
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

TEST_P(WaitStoreContractTest, SpaceHasItsNamesAndWorkers) {
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

TEST_P(WaitStoreContractTest, ServerOfAPartitionHasAnId) {
  const absl::StatusOr<WaitServer> server =
      Answer<WaitServer>([&](WaitStore& store, auto callback) {
        store.Inspect(partition_, std::move(callback));
      });
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE(server->id, "");
  EXPECT_NE(server->description, "");
  EXPECT_TRUE(server->is_usable);
}

TEST_P(WaitStoreContractTest, TimerFiresOnceAndNotBeforeItsTime) {
  WaitStore& store = *subject_->store();
  const MonotonicTime time =
      store.clock().MonotonicNow() + std::chrono::milliseconds(30);
  std::promise<MonotonicTime> fired;
  // A second call would throw.
  store.RunAt(time, [&] { fired.set_value(store.clock().MonotonicNow()); });
  EXPECT_GE(Await(fired.get_future()), time);
  subject_->Pass(absl::Milliseconds(50));
}

TEST_P(WaitStoreContractTest, CallbacksDoNotComeWithinTheCall) {
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
}  // namespace waiter
