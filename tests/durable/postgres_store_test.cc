// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises that only the store in PostgreSQL makes.
// wait_store_contract_test.cc tests the others, and postgres_faults_test.cc
// tests faults.

#ifdef WAITER_HAS_LIBPQ

#include "waiter/durable/postgres_store.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/postgres_fixture.h"
#include "tests/durable/store_calls.h"
#include "tests/support/first_seed.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/postgres/postgres_values.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Options.

TEST(PostgresOptionsTest, OptionsOutOfRangeAreRefusedByName) {
  const auto error = [](const std::string& url,
                        const PostgresStoreOptions& options) {
    return MakePostgresWaitStore(url, options).status();
  };
  const std::string url = "postgres://localhost/app";
  for (const char* schema : {"", "Waits", "1x", "a-b", "a.b", "a\"b"}) {
    EXPECT_THAT(error(url, {.schema = schema}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("\"", schema, "\""))));
  }
  EXPECT_THAT(error(url, {.schema = std::string(64, 'a')}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(error(url, {.call_timeout = absl::Milliseconds(99)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("call_timeout"), HasSubstr("99ms"))));
  EXPECT_THAT(error(url, {.call_timeout = absl::Minutes(11)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PostgresOptionsTest, WrongUrlIsRefusedWithoutThePassword) {
  for (const char* url :
       {"postgres://me:sec%zzret@host/app", "postgres://me:secret@host/app?x=y",
        "password='secret", "secret"}) {
    EXPECT_THAT(MakePostgresWaitStore(url).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("postgres://USER@HOST"),
                               Not(HasSubstr("sec")))));
  }
}

TEST(PostgresOptionsTest, ServerThatIsNotThereIsAnErrorAfterTheTimeout) {
  const StoreCalls store(*MakePostgresWaitStore(
      "postgres://127.0.0.1:1/app", {.call_timeout = absl::Milliseconds(300)}));
  const absl::Time start = absl::Now();
  EXPECT_THAT(
      store.Enqueue({{.key = "a"}}).status(),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("Connection refused")));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - start, absl::Seconds(3));
}

// Values.

TEST(PostgresValuesTest, ArrayIsInTheServersBinaryFormat) {
  using internal::PostgresArray;
  PostgresArray numbers(PostgresArray::Type::kNumber, 2);
  numbers.Add(int64_t{258});
  numbers.Add(int64_t{-1});
  EXPECT_EQ(absl::BytesToHexString(std::move(numbers).Take()),
            "000000010000000000000014"  // One dimension, no NULL, int8.
            "0000000200000001"          // Two values, from 1.
            "000000080000000000000102"
            "00000008ffffffffffffffff");
  PostgresArray none(PostgresArray::Type::kBytes, 0);
  EXPECT_EQ(absl::BytesToHexString(std::move(none).Take()),
            "000000000000000000000011");
}

// Tables.

class PostgresStoreTest : public PostgresFixture {};

TEST_F(PostgresStoreTest, TablesAreMadeOnceByManyStores) {
  std::vector<StoreCalls> stores;
  for (int i = 0; i < 8; ++i) stores.push_back(MakeStore());
  std::vector<std::thread> threads;
  std::atomic<int> opened = 0;
  for (const StoreCalls& store : stores) {
    threads.emplace_back([&] {
      const absl::StatusOr<int64_t> count = store.Open(3);
      EXPECT_EQ(count.status(), absl::OkStatus());
      if (count.ok() && *count == 3) ++opened;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 8);
  EXPECT_EQ(Run("SELECT count(*) FROM @version"), "1");
}

TEST_F(PostgresStoreTest, SchemasOfOneDatabaseAreApart) {
  const StoreCalls one = MakeStore();
  const StoreCalls other =
      MakeStore(server().Url(), {.schema = schema() + "_other"});
  ASSERT_TRUE(one.Enqueue({{.key = "a"}}).ok());
  EXPECT_TRUE(one.Get("a").exists());
  EXPECT_FALSE(other.Get("a").exists());
}

TEST_F(PostgresStoreTest, TablesOfANewerVersionAreRefusedUnlessCompatible) {
  ASSERT_TRUE(MakeStore().Enqueue({{.key = "a"}}).ok());
  EXPECT_EQ(Run("UPDATE @version SET version = 3"), "");
  EXPECT_TRUE(MakeStore().Get("a").exists());
  EXPECT_EQ(Run("UPDATE @version SET compatible = 2"), "");
  EXPECT_THAT(MakeStore().Enqueue({{.key = "b"}}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("has version 3"), HasSubstr(schema()),
                             HasSubstr("use a newer program"))));
}

TEST_F(PostgresStoreTest, RoleThatMayNotMakeTablesUsesThoseOfAnAdministrator) {
  Run("CREATE ROLE app LOGIN; REVOKE CREATE ON DATABASE postgres FROM PUBLIC");
  const std::string url = server().Url("app");
  EXPECT_THAT(MakeStore(url, Options()).Enqueue({{.key = "a"}}).status(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("PostgresStoreSchema")));
  const PostgresProgram administrator(server().Url());
  EXPECT_EQ(administrator.Run(*PostgresStoreSchema(schema())), "");
  EXPECT_EQ(Run("GRANT USAGE ON SCHEMA " + schema() +
                " TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES "
                "IN SCHEMA " +
                schema() + " TO app"),
            "");
  EXPECT_EQ(MakeStore(url, Options()).Enqueue({{.key = "a"}}).status(),
            absl::OkStatus());
}

TEST_F(PostgresStoreTest, DroppedSchemaIsMadeAgain) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Enqueue({{.key = "a"}}).ok());
  Run("DROP SCHEMA " + schema() + " CASCADE");
  EXPECT_FALSE(store.Enqueue({{.key = "a"}}).ok() &&
               store.Enqueue({{.key = "a"}}).ok());
  ValueOrFail(store.Enqueue({{.key = "a"}}));
}

TEST_F(PostgresStoreTest, PartitionOfAKeyIsThatOfClients) {
  ASSERT_TRUE(MakeStore().Open().ok());
  const uint64_t seed = FirstSeed();
  std::mt19937_64 random(seed);
  const PostgresProgram program(server().Url());
  for (int i = 0; i < 300; ++i) {
    std::string key(absl::Uniform<size_t>(random, 1, 129), ' ');
    for (char& byte : key) {
      byte = static_cast<char>(absl::Uniform<int>(random, 0, 256));
    }
    const int64_t count = absl::Uniform<int64_t>(random, 1, 4097);
    EXPECT_EQ(program.Run(absl::StrCat(
                  "SELECT ", schema(), ".partition_number('\\x",
                  absl::BytesToHexString(key), "'::bytea, ", count, ")")),
              absl::StrCat(internal::PartitionOf(key, count)));
  }
}

// Processes.

TEST_F(PostgresStoreTest, ClaimPassesAPartitionOverThatAnotherWorkerHolds) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Enqueue({{.key = "a"}}).ok());
  const PostgresProgram other(server().Url());
  other.Run(InSchema("BEGIN; SELECT * FROM @partitions FOR UPDATE"));
  const absl::Time start = absl::Now();
  absl::StatusOr<ClaimReply> claimed = store.Claim();
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_THAT(claimed->waits, IsEmpty());
  EXPECT_EQ(claimed->next_us, claimed->now_us);
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  other.Run("COMMIT");
  claimed = store.Claim();
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_THAT(claimed->waits, SizeIs(1));
}

// Enqueues in transactions of the program.

class PostgresInboxTest : public PostgresStoreTest {
 protected:
  void SetUp() override {
    PostgresStoreTest::SetUp();
    if (IsSkipped()) return;
    program_ = std::make_unique<PostgresProgram>(server().Url());
  }

  // Returns the error, or an empty string.
  std::string Enqueue(const DurableRequest& request) const {
    return program_->Run(*PostgresEnqueue("default", "n", request, schema()));
  }
  std::string Sql(const std::string& sql) const {
    return program_->Run(InSchema(sql));
  }

  std::unique_ptr<PostgresProgram> program_;
};

TEST_F(PostgresInboxTest, OpenTransactionBlocksNobody) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  ASSERT_TRUE(store.Enqueue({{.key = "a"}, {.key = "b"}}).ok());
  EXPECT_EQ(Sql("BEGIN"), "");
  ASSERT_EQ(Enqueue({.key = "a"}), "");
  ASSERT_EQ(Enqueue({.key = "c"}), "");
  EXPECT_EQ(program_->Run(*PostgresCancel("default", "n", "b", schema())), "");
  const absl::Time start = absl::Now();
  EXPECT_THAT(ValueOrFail(store.Claim()).waits, SizeIs(2));
  const EnqueueReply added = ValueOrFail(store.Enqueue({{.key = "c"}}));
  EXPECT_THAT(added.created, ElementsAre(true));
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  EXPECT_EQ(Sql("COMMIT"), "");
  EXPECT_TRUE(store.Get("b").is_cancelled);
  EXPECT_THAT(store.Faults(false), IsEmpty());
}

TEST_F(PostgresInboxTest, OtherLanguagesEnqueueAndSignalBySql) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  EXPECT_EQ(Sql("SELECT @enqueue('default', 'n', 'text', 'x', "
                "timeout => '5 min', first_delay => '1 hour')"),
            "");
  EXPECT_EQ(store.Get("text").args, "x");
  EXPECT_FALSE(store.Get("text").is_cancelled);
  const int64_t due = *store.Get("text").due_us;
  EXPECT_EQ(Sql("SELECT @notify('default', 'n', 'text')"), "");
  EXPECT_LT(*store.Get("text").due_us, due);
  EXPECT_EQ(Sql("SELECT @cancel('default', 'n', key) "
                "FROM unnest(ARRAY['text', 'none']) AS key"),
            "\n");
  EXPECT_TRUE(store.Get("text").is_cancelled);
  EXPECT_FALSE(store.Get("none").exists());
  EXPECT_THAT(ValueOrFail(store.Claim()).waits, SizeIs(1));
}

TEST_F(PostgresInboxTest, MoreRowsThanOneCallMovesAllArrive) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  EXPECT_EQ(Sql("SELECT count(@enqueue('default', 'n', 'k' || i)) "
                "FROM generate_series(1, 2500) AS i"),
            "2500");
  for (const char* key : {"k1", "k1000", "k2500"}) store.Get(key);
  EXPECT_TRUE(store.Get("k2500").exists());
  EXPECT_EQ(Sql("SELECT pending FROM @partitions"), "2500");
}

TEST(PostgresOptionsTest, StatementsOutOfRangeAreRefused) {
  EXPECT_THAT(PostgresEnqueue("default", "n", {.key = "a"}, "x;y").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PostgresCancel("default", "n", "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(PostgresInboxTest, SqlOutOfRangeFailsTheStatement) {
  ASSERT_TRUE(MakeStore().Open().ok());
  for (const char* arguments :
       {"'default', 'n', ''", "'default', 'a name', 'k'", "'', 'n', 'k'",
        "'default', 'n', repeat('k', 129)",
        "'default', 'n', 'k', repeat('a', 16385)",
        "'default', 'n', 'k', first_delay => '-1 s'",
        "'default', 'n', 'k', timeout => '101 years'"}) {
    EXPECT_THAT(Sql(absl::StrCat("SELECT @enqueue(", arguments, ")")),
                HasSubstr("violates check constraint"));
  }
}

// Damage by other programs.

TEST_F(PostgresStoreTest, CheckFindsAndRepairsWhatOtherProgramsBreak) {
  const StoreCalls store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  ASSERT_TRUE(store
                  .Enqueue({{.key = "adrift", .record = "r"},
                            {.key = "gone", .record = "r"},
                            {.key = "kept", .record = "r"},
                            {.key = "lost", .record = "r"},
                            {.key = "sound", .record = "r"},
                            {.key = "still", .record = "r"}})
                  .ok());
  EXPECT_THAT(store.Faults(false), IsEmpty());
  EXPECT_EQ(Run("DELETE FROM @pending WHERE key IN ('adrift', 'lost');"
                "DELETE FROM @waits WHERE key IN ('gone', 'lost');"
                "UPDATE @waits SET forget = 5 WHERE key = 'kept';"
                "UPDATE @pending SET record = '2x', marks = 1 "
                "WHERE key = 'still'"),
            "");
  EXPECT_THAT(store.Faults(false),
              UnorderedElementsAre("adrift adrift", "gone no-record",
                                   "kept not-delivered", "still still-pending",
                                   "still leftover", " miscounted"));
  EXPECT_THAT(store.Faults(true), SizeIs(6));
  EXPECT_THAT(store.Faults(true), IsEmpty());
  EXPECT_EQ(store.Get("still").due_us, std::nullopt);
  EXPECT_THAT(store.Claim()->waits, SizeIs(3));
}

TEST_F(PostgresStoreTest, SettingsThatEndangerWaitsAreFaults) {
  const DurableCheckReport report = ValueOrFail(MakeStore().Check());
  ASSERT_THAT(report.servers, SizeIs(1));
  EXPECT_THAT(report.servers[0].description,
              AllOf(HasSubstr("PostgreSQL "), HasSubstr("fsync=off")));
  EXPECT_THAT(report.servers[0].faults,
              ElementsAre(HasSubstr("set fsync = on")));
}

}  // namespace
}  // namespace waiter

#else  // WAITER_HAS_LIBPQ

#include "gtest/gtest.h"

TEST(PostgresStoreTest, NeedsLibpq) { GTEST_SKIP() << "built without libpq"; }

#endif  // WAITER_HAS_LIBPQ
