// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests durable waits in PostgreSQL when servers are killed, stopped, full or
// replaced, and when transactions fail.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_LIBPQ

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "tests/durable/live_workers.h"
#include "tests/durable/postgres_fixture.h"
#include "tests/durable/store_calls.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/postgres_store.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Work : public LiveWorkers {
 public:
  explicit Work(std::function<StoreCalls()> make_store)
      : LiveWorkers(/*waits=*/200, {.lease = absl::Seconds(2)},
                    /*limit=*/absl::Minutes(1)),
        make_store_(std::move(make_store)) {
    policy_ = {.timeout = absl::Minutes(5),
               .backoff = {.initial_delay = absl::Milliseconds(50),
                           .max_delay = absl::Seconds(1)}};
  }

  std::shared_ptr<WaitStore> MakeStore() override {
    return make_store_().get();
  }

  // Expects in addition that the workers can end, and that the store is sound.
  void ExpectAllResultsAndSoundStore() {
    ExpectAllResults();
    for (const auto& waits : workers_) {
      EXPECT_TRUE(waits->Drain(absl::Seconds(10)));
    }
    workers_.clear();
    ExpectEqualResults();
    const auto report =
        ValueOrFail(AnswerOf<DurableCheckReport>([&](auto callback) {
          CheckDurableWaits(MakeStore(), "job", {}, callback);
        }));
    EXPECT_THAT(report.findings, IsEmpty());
  }

 private:
  const std::function<StoreCalls()> make_store_;
};

class PostgresFaultsTest : public PostgresFixture {
 protected:
  Work MakeWork() const {
    return Work([this] { return MakeStore(); });
  }
};

// Transactions.

// Makes the Nth change of a row fail.
constexpr const char* kTrap = R"sql(
CREATE SEQUENCE @changes;
CREATE TABLE @trap(change bigint, state text);
INSERT INTO @trap VALUES (0, '');
CREATE FUNCTION @spring() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('@changes') = (SELECT change FROM @trap) THEN
    RAISE EXCEPTION USING ERRCODE = (SELECT state FROM @trap),
      MESSAGE = 'the trap';
  END IF;
  RETURN NULL;
END $$;
)sql";

constexpr const char* kTables[] = {"names", "partitions", "claims", "counters",
                                   "waits", "pending",    "workers"};

// Makes every kind of change.
void DoAll(const StoreCalls& store, const std::string& key) {
  EXPECT_EQ(store.Open().status(), absl::OkStatus());
  EXPECT_EQ(store.Enqueue({{.key = key, .args = "x"}}).status(),
            absl::OkStatus());
  const auto claimed = ValueOrFail(store.Claim());
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_EQ(claimed.waits[0].crashes, 0);
  EXPECT_TRUE(store.Cancel(key).at(0).is_cancelled);
  const auto held = ValueOrFail(store.Settle({Ended(key, claimed.fence)}));
  EXPECT_THAT(held.lost, IsEmpty());
  const auto over =
      ValueOrFail(store.Settle({{.key = key,
                                 .fence = held.fence,
                                 .action = SettleAction::kDelivered,
                                 .record = "2over"}},
                               StoreCalls::kMinute));
  EXPECT_THAT(over.lost, IsEmpty());
  EXPECT_EQ(store.Get(key).value, "value");
}

TEST_F(PostgresFaultsTest, CollisionAtEachStatementIsRepeated) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  EXPECT_EQ(Run(kTrap), "");
  for (const char* table : kTables) {
    EXPECT_EQ(
        Run(absl::StrCat("CREATE TRIGGER trap AFTER INSERT OR UPDATE OR "
                         "DELETE ON @",
                         table, " FOR EACH ROW EXECUTE FUNCTION @spring()")),
        "");
  }
  const PostgresProgram program(server().Url());
  DoAll(store, "first");
  const int64_t changes =
      std::stoll(program.Run(InSchema("SELECT last_value FROM @changes")));
  EXPECT_GT(changes, 10);
  std::cout << changes << " changes\n";
  for (const char* state : {"40001", "40P01"}) {
    for (int64_t i = 1; i <= changes; ++i) {
      program.Run(
          InSchema(absl::StrCat("SELECT setval('@changes', 1, false); "
                                "UPDATE @trap SET change = ",
                                i, ", state = '", state, "'")));
      DoAll(store, absl::StrCat("k", state, i));
      EXPECT_GT(
          std::stoll(program.Run(InSchema("SELECT last_value FROM @changes"))),
          i);
    }
  }
  EXPECT_THAT(store.Faults(false), IsEmpty());
}

TEST_F(PostgresFaultsTest, RequestThatAlwaysCollidesFailsInTheEnd) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  Run("CREATE FUNCTION @fail() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION USING ERRCODE = ''40001''; END'; "
      "CREATE TRIGGER fail BEFORE INSERT ON @waits "
      "FOR EACH ROW EXECUTE FUNCTION @fail()");
  EXPECT_THAT(store.Enqueue({{.key = "a"}}).status(),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("collided with another transaction")));
  EXPECT_TRUE(store.Claim().ok());
}

TEST_F(PostgresFaultsTest, RequestThatFailsFailsAlone) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  Run("ALTER TABLE @waits ADD CHECK (key <> 'bad')");
  std::vector<std::future<absl::Status>> statuses;
  for (int i = 0; i < 20; ++i) {
    auto promise = std::make_shared<std::promise<absl::Status>>();
    statuses.push_back(promise->get_future());
    store.get()->Enqueue(
        {.partition = {.space = "default", .name = "n"},
         .most_pending = 100,
         .items = {{.key = i == 7 ? "bad" : absl::StrCat("k", i)}}},
        [promise](const absl::StatusOr<EnqueueReply>& reply) {
          promise->set_value(reply.status());
        });
  }
  for (size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_EQ(statuses[i].get().ok(), i != 7) << i;
  }
  EXPECT_EQ(store.Stats()->pending, 19);
}

TEST_F(PostgresFaultsTest, LockOfAnotherTransactionIsAnErrorAfterThreeSeconds) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Enqueue({{.key = "a"}}).ok());
  const PostgresProgram other(server().Url());
  other.Run(InSchema("BEGIN; SELECT * FROM @partitions FOR UPDATE"));
  EXPECT_THAT(store.Enqueue({{.key = "b"}}).status(),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("locked by another transaction")));
  EXPECT_TRUE(store.Get("a").exists());
  other.Run("COMMIT");
  EXPECT_TRUE(store.Enqueue({{.key = "b"}}).ok());
}

TEST_F(PostgresFaultsTest, ClockThatIsSetBackChangesNoHolder) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Enqueue({{.key = "a"}, {.key = "b"}}).ok());
  const auto first = ValueOrFail(store.Claim(1));
  Run("CREATE OR REPLACE FUNCTION @now_us() RETURNS bigint LANGUAGE sql AS "
      "'SELECT (extract(epoch FROM clock_timestamp() - interval ''2 hours'') "
      "* 1000000)::bigint'");
  EXPECT_THAT(store.Claim()->waits, IsEmpty());
  const auto settled =
      ValueOrFail(store.Settle({{.key = first.waits.at(0).key,
                                 .fence = first.fence,
                                 .action = SettleAction::kHold}}));
  EXPECT_THAT(settled.lost, IsEmpty());
  EXPECT_GT(settled.fence, first.fence);
}

TEST_F(PostgresFaultsTest, ClockThatWasAheadDelaysNoNewWaits) {
  const auto set_clock = [&](int64_t hours) {
    Run(
        absl::StrCat("CREATE OR REPLACE FUNCTION @now_us() RETURNS bigint "
                     "LANGUAGE sql AS 'SELECT (extract(epoch FROM "
                     "clock_timestamp() + interval ''",
                     hours, " hours'') * 1000000)::bigint'"));
  };
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  set_clock(5);
  ASSERT_TRUE(store.Enqueue({{.key = "a"}, {.key = "b"}}).ok());
  const auto ahead = ValueOrFail(store.Claim(1));
  ASSERT_THAT(ahead.waits, SizeIs(1));
  set_clock(0);
  ASSERT_TRUE(store.Enqueue({{.key = "new"}}).ok());
  const auto claimed = ValueOrFail(store.Claim());
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_EQ(claimed.waits[0].key, "new");
  EXPECT_GT(claimed.fence, ahead.fence);
  EXPECT_EQ(store.Get("a").due_us, ahead.fence);
  const auto settled =
      ValueOrFail(store.Settle({{.key = "a", .fence = ahead.fence},
                                {.key = "new", .fence = claimed.fence}}));
  EXPECT_THAT(settled.lost, IsEmpty());
  EXPECT_THAT(store.Claim()->waits, SizeIs(2));
  EXPECT_THAT(store.Faults(false), IsEmpty());
}

// Servers.

TEST_F(PostgresFaultsTest, KilledServerLosesNothing) {
  Work work = MakeWork();
  work.EnqueueAll();
  work.AddWorker();
  work.AddWorker();
  for (int i = 0; i < 3; ++i) {
    absl::SleepFor(absl::Milliseconds(700));
    server().Kill();
    absl::SleepFor(absl::Milliseconds(300));
    server().Start();
  }
  work.ExpectAllResultsAndSoundStore();
}

TEST_F(PostgresFaultsTest, EndedSessionsOnlyDelay) {
  Work work = MakeWork();
  work.EnqueueAll();
  work.AddWorker();
  work.AddWorker();
  for (int i = 0; i < 60; ++i) {
    Run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'waiter'");
    absl::SleepFor(absl::Milliseconds(30));
    if (i == 30) work.LetAllSucceed();
  }
  work.ExpectAllResultsAndSoundStore();
}

TEST_F(PostgresFaultsTest, ServerThatStandsStillForLongerThanALease) {
  Work work = MakeWork();
  work.EnqueueAll();
  work.AddWorker();
  work.AddWorker();
  absl::SleepFor(absl::Seconds(1));
  server().Pause();
  absl::SleepFor(absl::Seconds(4));
  server().Resume();
  work.ExpectAllResultsAndSoundStore();
}

TEST_F(PostgresFaultsTest, ServerThatStandsStillDelaysNeitherTimersNorTheEnd) {
  PostgresStoreOptions options = Options();
  options.call_timeout = absl::Seconds(2);
  std::optional<StoreCalls> store = MakeStore(server().Url(), options);
  ASSERT_TRUE(store->Enqueue({{.key = "a"}}).ok());
  server().Pause();
  const absl::Time start = absl::Now();
  std::promise<absl::Duration> fired;
  store->get()->RunAt(
      store->get()->clock().MonotonicNow() + std::chrono::milliseconds(200),
      [&] { fired.set_value(absl::Now() - start); });
  const absl::Status status = store->Enqueue({{.key = "b"}}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("does not answer")));
  EXPECT_GE(absl::Now() - start, absl::Seconds(2));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_LT(fired.get_future().get(), absl::Seconds(1));
  std::promise<absl::Status> last;
  store->get()->Get({.space = "default", .name = "n"}, {"a"},
                    [&](const auto& rows) { last.set_value(rows.status()); });
  const absl::Time end = absl::Now();
  store.reset();
  EXPECT_LT(absl::Now() - end, absl::Seconds(1));
  EXPECT_THAT(
      last.get_future().get().code(),
      AnyOf(absl::StatusCode::kCancelled, absl::StatusCode::kUnavailable));
  server().Resume();
}

TEST_F(PostgresFaultsTest, ServerWithoutFreeConnectionsIsAnErrorThatPasses) {
  Run("CREATE ROLE crowd LOGIN CONNECTION LIMIT 1 SUPERUSER");
  Run("ALTER ROLE crowd NOSUPERUSER; GRANT CREATE ON DATABASE postgres TO "
      "crowd");
  PostgresStoreOptions options = Options();
  options.call_timeout = absl::Seconds(1);
  auto other = std::make_unique<PostgresProgram>(server().Url("crowd"));
  const StoreCalls store = MakeStore(server().Url("crowd"), options);
  EXPECT_THAT(store.Enqueue({{.key = "a"}}).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("too many")));
  other = nullptr;
  // The server needs a moment to see that the other session is gone.
  absl::Status status = absl::AbortedError("");
  for (int i = 0; i < 30 && absl::IsAborted(status); ++i) {
    status = store.Enqueue({{.key = "a"}}).status();
  }
  EXPECT_EQ(status, absl::OkStatus());
}

// Needs a small file system that the server may write:
//
//   mount -t tmpfs -o size=24m,uid=postgres tmpfs /tmp/small
//   WAITER_TEST_SMALL_FOLDER=/tmp/small postgres_faults_test
TEST_F(PostgresFaultsTest, FullDiskRefusesWaitsUntilThereIsRoom) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets it
  const char* const folder = std::getenv("WAITER_TEST_SMALL_FOLDER");
  if (folder == nullptr) GTEST_SKIP() << "WAITER_TEST_SMALL_FOLDER is not set";
  const std::string ballast = absl::StrCat(folder, "/ballast");
  std::ofstream(ballast) << std::string(1 << 22, 'x');
  const PostgresServer own;
  ASSERT_EQ(
      own.Run(absl::StrCat("CREATE TABLESPACE small LOCATION '", folder, "'")),
      "");
  ASSERT_EQ(own.Run("CREATE DATABASE full_disk TABLESPACE small"), "");
  const StoreCalls store = MakeStore(own.Url("waiter", "full_disk"), Options());
  ASSERT_TRUE(store.Open().ok());
  absl::Status status;
  int64_t added = 0;
  while (status.ok() && added < 1000) {
    std::vector<EnqueueItem> items;
    for (int i = 0; i < 50; ++i) {
      items.push_back({.key = absl::StrCat("k", added, "-", i),
                       .record = std::string(1000, 'r')});
    }
    status = store.Enqueue(std::move(items)).status();
    if (status.ok()) ++added;
  }
  EXPECT_GT(added, 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("disk is full")));
  EXPECT_TRUE(store.Get("k0-0").exists());
  EXPECT_FALSE(store.Get(absl::StrCat("k", added, "-0")).exists());
  std::filesystem::remove(ballast);
  EXPECT_EQ(store.Enqueue({{.key = "new"}}).status(), absl::OkStatus());
  EXPECT_THAT(store.Faults(false), IsEmpty());
}

TEST_F(PostgresFaultsTest, StandbyShowsWaitsAndRefusesChanges) {
  ASSERT_TRUE(MakeStore().Open().ok());
  ASSERT_TRUE(MakeStore().Enqueue({{.key = "a"}}).ok());
  const PostgresServer standby(server());
  const StoreCalls store = MakeStore(standby.Url(), Options());
  EXPECT_TRUE(store.Get("a").exists());
  EXPECT_THAT(store.Enqueue({{.key = "b"}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("is read-only"),
                             HasSubstr("target_session_attrs=read-write"))));
  EXPECT_THAT(store.Check()->servers.at(0).faults,
              testing::Contains(HasSubstr("the server is read-only")));
}

TEST_F(PostgresFaultsTest, StandbyThatTakesOverContinuesAllWaits) {
  auto primary = std::make_unique<PostgresServer>(
      std::vector<std::string>{"synchronous_standby_names=*"});
  primary->Run("ALTER SYSTEM SET synchronous_commit = 'local'");
  primary->Run("SELECT pg_reload_conf()");
  const PostgresServer standby(*primary);
  primary->Run("ALTER SYSTEM RESET synchronous_commit");
  primary->Run("SELECT pg_reload_conf()");
  const std::string url =
      absl::StrCat("postgres://waiter@127.0.0.1:", primary->port(),
                   ",127.0.0.1:", standby.port(),
                   "/postgres?target_session_attrs=read-write");
  Work work([&] { return MakeStore(url, Options()); });
  work.EnqueueAll();
  work.AddWorker();
  work.AddWorker();
  absl::SleepFor(absl::Seconds(1));
  primary->Kill();
  absl::SleepFor(absl::Milliseconds(500));
  standby.Promote();
  work.ExpectAllResultsAndSoundStore();
}

}  // namespace
}  // namespace waiter

#else  // WAITER_HAS_LIBPQ

TEST(PostgresFaultsTest, NeedsLibpq) { GTEST_SKIP() << "built without libpq"; }

#endif  // WAITER_HAS_LIBPQ
