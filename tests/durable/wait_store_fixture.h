// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The stores of durable waits that tests hold to one contract, and calls of
// them: in memory, in an SQLite file, in PostgreSQL with and without PgBouncer,
// on Redis, on Valkey, and on a Redis Cluster.

#ifndef WAITER_TESTS_DURABLE_WAIT_STORE_FIXTURE_H_
#define WAITER_TESTS_DURABLE_WAIT_STORE_FIXTURE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/wait_book.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/testing/simulated_clock.h"

#ifdef WAITER_HAS_SQLITE
#include "tests/durable/sqlite_file.h"
#include "waiter/durable/sqlite_store.h"
#endif

#ifdef WAITER_HAS_LIBPQ
#include "tests/durable/postgres_fixture.h"
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

// Microseconds.
inline constexpr int64_t kSecond = 1'000'000;
inline constexpr int64_t kMinute = 60 * kSecond;

// A session of a program that enqueues in its own transactions.
class InboxProgram {
 public:
  virtual ~InboxProgram() = default;
  // Returns the first column of the rows, joined by newlines, or the error.
  virtual std::string Run(const std::string& sql) = 0;
  virtual absl::Status Enqueue(const WaitPartition& to,
                               const DurableRequest& request) = 0;
  // Returns the number of rows that no store has moved yet.
  virtual std::string CountInbox() = 0;
};

// A store and its time.
class Subject {
 public:
  virtual ~Subject() = default;
  // Returns null if the store is not available here; `why_not()` says why.
  virtual WaitStore* store() = 0;
  virtual std::string why_not() { return ""; }
  // Returns the store of another process, with the same waits.
  virtual std::shared_ptr<WaitStore> MakeStore() = 0;
  // Returns null if programs cannot enqueue in their own transactions.
  virtual std::unique_ptr<InboxProgram> MakeProgram() { return nullptr; }
  // Returns after `time` has passed for the store.
  virtual void Pass(absl::Duration time) = 0;
};

class MemorySubject final : public Subject {
 public:
  WaitStore* store() override { return &store_; }
  std::shared_ptr<WaitStore> MakeStore() override {
    return std::make_shared<MemoryWaitStore>(clock_, book_);
  }
  void Pass(absl::Duration time) override { clock_.AdvanceTime(time); }

 private:
  SimulatedClock clock_{SimulatedClock::Mode::kManual};
  const std::shared_ptr<WaitBook> book_ = std::make_shared<WaitBook>();
  MemoryWaitStore store_{clock_, book_};
};

// A store on real time.
class LiveSubject : public Subject {
 public:
  WaitStore* store() override { return store_.get(); }
  std::string why_not() override { return "the server is not installed"; }
  std::shared_ptr<WaitStore> MakeStore() override { return make_(); }
  void Pass(absl::Duration time) override {
    std::this_thread::sleep_for(absl::ToChronoMilliseconds(time));
  }

 protected:
  void Use(std::function<std::shared_ptr<WaitStore>()> make) {
    make_ = std::move(make);
    store_ = make_();
  }

 private:
  std::function<std::shared_ptr<WaitStore>()> make_;
  std::shared_ptr<WaitStore> store_;
};

#ifdef WAITER_HAS_SQLITE

class SqliteInboxProgram final : public InboxProgram {
 public:
  explicit SqliteInboxProgram(const SqliteFile& file)
      : connection_(file.Open()) {}

  std::string Run(const std::string& sql) override {
    return RunSql(connection_.get(), sql);
  }
  absl::Status Enqueue(const WaitPartition& to,
                       const DurableRequest& request) override {
    return EnqueueInSqlite(connection_.get(), to.space, to.name, request);
  }
  std::string CountInbox() override {
    return Run("SELECT COUNT(*) FROM waiter_inbox");
  }

 private:
  const SqliteProgram connection_;
};

class SqliteSubject final : public LiveSubject {
 public:
  SqliteSubject() {
    Use([this] {
      return *MakeSqliteWaitStore(file_.path(), {.syncs = false});
    });
  }
  std::unique_ptr<InboxProgram> MakeProgram() override {
    return std::make_unique<SqliteInboxProgram>(file_);
  }

 private:
  const SqliteFile file_;
};

#endif

#ifdef WAITER_HAS_LIBPQ

class PostgresInboxProgram final : public InboxProgram {
 public:
  explicit PostgresInboxProgram(const std::string& url) : program_(url) {}

  std::string Run(const std::string& sql) override { return program_.Run(sql); }
  absl::Status Enqueue(const WaitPartition& to,
                       const DurableRequest& request) override {
    const absl::StatusOr<SqlStatement> statement =
        PostgresEnqueue(to.space, to.name, request);
    if (!statement.ok()) return statement.status();
    EXPECT_EQ(program_.Run(*statement), "");
    return absl::OkStatus();
  }
  std::string CountInbox() override {
    return Run("SELECT count(*) FROM waiter.inbox");
  }

 private:
  const PostgresProgram program_;
};

class PostgresSubject final : public LiveSubject {
 public:
  explicit PostgresSubject(bool has_bouncer) {
    if (!PostgresServer::IsInstalled()) return;
    if (has_bouncer && !PgBouncer::IsInstalled()) return;
    server_ = std::make_unique<PostgresServer>();
    if (has_bouncer) bouncer_ = std::make_unique<PgBouncer>(*server_);
    Use([url = Url()] { return *MakePostgresWaitStore(url); });
  }
  std::unique_ptr<InboxProgram> MakeProgram() override {
    return std::make_unique<PostgresInboxProgram>(Url());
  }

 private:
  std::string Url() const {
    return bouncer_ != nullptr ? bouncer_->Url() : server_->Url();
  }

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
    Use([url = server_->Url()] {
      return std::make_shared<RedisWaitStore>(*RedisClient::Make(url));
    });
  }

 private:
  std::unique_ptr<RedisServer> server_;
};

class ClusterSubject final : public LiveSubject {
 public:
  ClusterSubject() {
    if (!RedisServer::IsInstalled()) return;
    servers_ = std::make_unique<RedisClusterServers>();
    Use([urls = servers_->Urls()] {
      return std::make_shared<RedisWaitStore>(*RedisCluster::Make(urls));
    });
  }

 private:
  std::unique_ptr<RedisClusterServers> servers_;
};

#endif

struct StoreKind {
  const char* name;
  std::unique_ptr<Subject> (*make)();
  bool has_inbox = false;

  friend void PrintTo(const StoreKind& kind, std::ostream* out) {
    *out << kind.name;
  }
};

inline constexpr auto kStoreKinds = std::to_array<StoreKind>({
    {"Memory",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<MemorySubject>();
     }},
#ifdef WAITER_HAS_SQLITE
    {"Sqlite",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<SqliteSubject>();
     },
     /*has_inbox=*/true},
#endif
#ifdef WAITER_HAS_LIBPQ
    {"Postgres",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<PostgresSubject>(/*has_bouncer=*/false);
     },
     /*has_inbox=*/true},
    {"PgBouncer",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<PostgresSubject>(/*has_bouncer=*/true);
     },
     /*has_inbox=*/true},
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
});

// The stores of this program's tests, by name. They are closed after the last
// test.
inline std::map<std::string, std::unique_ptr<Subject>>& Subjects() {
  static auto& subjects = *new std::map<std::string, std::unique_ptr<Subject>>;
  return subjects;
}
class SubjectsEnd final : public testing::Environment {
 public:
  void TearDown() override { Subjects().clear(); }
};
inline testing::Environment* const kSubjectsEnd =
    testing::AddGlobalTestEnvironment(new SubjectsEnd);

// Each test has its own space in the store, which all of them share.
class WaitStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
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
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_WAIT_STORE_FIXTURE_H_
