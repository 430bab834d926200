// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises that only the store in an SQLite file makes.
// wait_store_contract_test.cc tests the others.

#ifdef WAITER_HAS_SQLITE

#include "waiter/durable/sqlite_store.h"

#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/sqlite_file.h"
#include "tests/durable/store_calls.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/sqlite/sqlite_clock.h"

namespace waiter::sqlite_store_test {
namespace {

using Store = StoreCalls;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMinute = 60'000'000;

class SqliteStoreTest : public testing::Test {
 protected:
  Store MakeStore(const SqliteStoreOptions& options = {.syncs = false}) const {
    absl::StatusOr<std::shared_ptr<WaitStore>> store =
        MakeSqliteWaitStore(file_.path(), options);
    EXPECT_EQ(store.status(), absl::OkStatus());
    return Store(*std::move(store));
  }

  const SqliteFile file_;
};

// Opening.

TEST_F(SqliteStoreTest, WaitsAreThereAfterTheFileIsOpenedAgain) {
  ASSERT_TRUE(MakeStore().Enqueue({{.key = "a", .args = "x"}}).ok());
  EXPECT_EQ(MakeStore().Get("a").args, "x");
  EXPECT_EQ(file_.Run("PRAGMA application_id"), "1466001780");
}

TEST_F(SqliteStoreTest, OptionsOutOfRangeAreRefusedByName) {
  const auto error = [&](const std::string& path,
                         const SqliteStoreOptions& options) {
    return std::string(MakeSqliteWaitStore(path, options).status().message());
  };
  EXPECT_THAT(error(file_.path(), {.busy_timeout = absl::Minutes(2)}),
              AllOf(HasSubstr("busy_timeout"), HasSubstr("2m")));
  EXPECT_THAT(error(file_.path(), {.max_bytes = 1000}),
              AllOf(HasSubstr("max_bytes"), HasSubstr("1000")));
  EXPECT_THAT(error("", {}), HasSubstr("not the path of a file"));
  EXPECT_THAT(error(":memory:", {}), HasSubstr("not the path of a file"));
}

TEST_F(SqliteStoreTest, FileThatIsSomethingElseIsRefused) {
  std::ofstream(file_.path()) << std::string(5000, 'x');
  EXPECT_THAT(MakeSqliteWaitStore(file_.path()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(file_.path()),
                             HasSubstr("is not an SQLite file"))));
  std::string text;
  std::ifstream(file_.path()) >> text;
  EXPECT_EQ(text, std::string(5000, 'x'));
}

TEST_F(SqliteStoreTest, FileOfAnotherProgramIsSharedOnlyIfItMayBe) {
  file_.Run(
      "CREATE TABLE gone(id); CREATE VIEW stale AS SELECT * FROM gone;"
      "DROP TABLE gone; CREATE TABLE photos(id); PRAGMA user_version = 7");
  EXPECT_THAT(MakeSqliteWaitStore(file_.path()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has tables of another program")));
  EXPECT_EQ(file_.Run("SELECT name FROM sqlite_master"), "stale\nphotos");
  EXPECT_EQ(file_.Run("PRAGMA journal_mode"), "delete");
  ASSERT_TRUE(MakeStore({.shares_file = true}).Enqueue({{.key = "a"}}).ok());
  EXPECT_EQ(file_.Run("PRAGMA application_id"), "0");
  EXPECT_EQ(file_.Run("PRAGMA user_version"), "7");
  EXPECT_TRUE(MakeStore().Get("a").exists());
}

TEST_F(SqliteStoreTest, FileOfANewerVersionIsRefused) {
  MakeStore();
  file_.Run("UPDATE waiter_schema SET version = 3");
  EXPECT_THAT(MakeSqliteWaitStore(file_.path()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("has version 3"),
                             HasSubstr("use a newer program"))));
}

TEST_F(SqliteStoreTest, FileOfVersionOneIsUpgradedWithItsWaits) {
  int64_t fence = 0;
  {
    const Store store = MakeStore();
    ASSERT_TRUE(store.Enqueue({{.key = "held", .record = "r"}}).ok());
    const ClaimReply claimed = ValueOrFail(store.Claim());
    fence = claimed.fence;
    ASSERT_TRUE(
        store.Enqueue({{.key = "free", .delay_us = kMinute, .record = "r"}})
            .ok());
  }
  ASSERT_EQ(file_.Run(absl::StrCat(
                "UPDATE waiter_waits SET due_us = ", fence,
                " WHERE key = CAST('held' AS BLOB);"
                "UPDATE waiter_waits SET due_us = 2, notified = 1 "
                "WHERE key = CAST('free' AS BLOB);"
                "DROP TABLE waiter_claims; DROP INDEX waiter_notified;"
                "ALTER TABLE waiter_partitions DROP COLUMN bound_due;"
                "ALTER TABLE waiter_partitions DROP COLUMN bound_id;"
                "ALTER TABLE waiter_waits RENAME COLUMN due_us TO due;"
                "UPDATE waiter_schema SET version = 1")),
            "");
  const Store store = MakeStore();
  EXPECT_EQ(store.Get("held").due_us, fence);
  const ClaimReply claimed = ValueOrFail(store.Claim());
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_EQ(claimed.waits.at(0).key, "free");
  EXPECT_TRUE(claimed.waits.at(0).is_notified);
  const SettleReply settled =
      ValueOrFail(store.Settle({{.key = "held", .fence = fence},
                                {.key = "free", .fence = claimed.fence}}));
  EXPECT_THAT(settled.lost, IsEmpty());
  EXPECT_EQ(file_.Run("SELECT version FROM waiter_schema"), "2");
}

TEST_F(SqliteStoreTest, ProgramsOfVersionOneFailOnTheTables) {
  ASSERT_TRUE(MakeStore().Open().ok());
  EXPECT_EQ(file_.Run("INSERT INTO waiter_waits(partition, key, due, record) "
                      "VALUES (1, 'a', 2, '')"),
            "error: table waiter_waits has no column named due");
}

TEST_F(SqliteStoreTest, FolderThatDoesNotExistIsAnError) {
  EXPECT_THAT(MakeSqliteWaitStore(file_.path() + "/x/y.db").status(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("its folder must exist")));
}

// Gives up the right of root to write every file.
void BecomeOrdinary() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3,
                                     .pid = 0};
  std::array<__user_cap_data_struct, 2> none = {};
  if (syscall(SYS_capset, &header, none.data()) != 0) _exit(100);
}

TEST_F(SqliteStoreTest, FileThatCannotBeWrittenIsRefused) {
  MakeStore();
  chmod(file_.path().c_str(), 0444);
  const pid_t child = fork();
  if (child == 0) {
    BecomeOrdinary();
    _exit(static_cast<int>(MakeSqliteWaitStore(file_.path()).status().code()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status),
            static_cast<int>(absl::StatusCode::kPermissionDenied));
}

// Other programs, and limits.

TEST_F(SqliteStoreTest, LockOfAnotherProgramIsAnErrorAfterTheTimeout) {
  const Store store = MakeStore({.busy_timeout = absl::Milliseconds(50)});
  const SqliteProgram program = file_.Open();
  EXPECT_EQ(RunSql(program.get(), "BEGIN IMMEDIATE"), "");
  EXPECT_THAT(store.Enqueue({{.key = "a"}}).status(),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("is locked by another program")));
  // Readers need no lock.
  EXPECT_FALSE(store.Get("a").exists());
  EXPECT_EQ(RunSql(program.get(), "COMMIT"), "");
  EXPECT_TRUE(store.Enqueue({{.key = "a"}}).ok());
}

// Enqueues until the file is full. Returns the number of batches.
int64_t Fill(const Store& store) {
  int64_t added = 0;
  absl::Status status;
  while (status.ok() && added < 200) {
    std::vector<EnqueueItem> items;
    for (int i = 0; i < 50; ++i) {
      items.push_back({.key = absl::StrCat("k", added, "-", i),
                       .record = std::string(1000, 'r')});
    }
    status = store.Enqueue(std::move(items)).status();
    if (status.ok()) ++added;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("has no room to grow")));
  EXPECT_TRUE(store.Get("k0-0").exists());
  EXPECT_FALSE(store.Get(absl::StrCat("k", added, "-0")).exists());
  return added;
}

TEST_F(SqliteStoreTest, FullFileRefusesWaitsUntilOthersEnd) {
  const Store store = MakeStore({.syncs = false, .max_bytes = 1 << 20});
  EXPECT_GT(Fill(store), 0);
  EXPECT_EQ(file_.Run("PRAGMA integrity_check"), "ok");
  const ClaimReply claimed = ValueOrFail(store.Claim(50));
  ASSERT_THAT(claimed.waits, SizeIs(50));
  std::vector<SettleItem> ends;
  for (const ClaimedWait& wait : claimed.waits) {
    ends.push_back(Over(wait.key, claimed.fence, "success", ""));
  }
  EXPECT_THAT(ValueOrFail(store.Settle(std::move(ends))).lost, IsEmpty());
  EXPECT_TRUE(store.Enqueue({{.key = "new"}}).ok());
}

// Needs a small file system:
//
//   mount -t tmpfs -o size=3m tmpfs /tmp/small
//   WAITER_TEST_SMALL_FOLDER=/tmp/small sqlite_store_test
TEST_F(SqliteStoreTest, FullDiskRefusesWaitsUntilThereIsRoom) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets it
  const char* const folder = std::getenv("WAITER_TEST_SMALL_FOLDER");
  if (folder == nullptr) GTEST_SKIP() << "WAITER_TEST_SMALL_FOLDER is not set";
  const std::string path = absl::StrCat(folder, "/full.db");
  const std::string ballast = absl::StrCat(folder, "/ballast");
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path + suffix);
  }
  std::ofstream(ballast) << std::string(1 << 20, 'x');
  std::shared_ptr<WaitStore> made = ValueOrFail(MakeSqliteWaitStore(path));
  const Store store(made);
  ASSERT_TRUE(store.Open().ok());
  EXPECT_GT(Fill(store), 0);
  std::filesystem::remove(ballast);
  EXPECT_TRUE(store.Enqueue({{.key = "new"}}).ok());
  EXPECT_THAT(store.Faults(false), IsEmpty());
  sqlite3* program = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &program), SQLITE_OK);
  EXPECT_EQ(RunSql(program, "PRAGMA integrity_check"), "ok");
  sqlite3_close(program);
}

TEST_F(SqliteStoreTest, DamagedFileIsAnErrorThatSaysSo) {
  {
    const Store store = MakeStore();
    std::vector<EnqueueItem> items;
    for (int i = 0; i < 500; ++i) {
      items.push_back({.key = absl::StrCat("k", i), .record = "r"});
    }
    ASSERT_TRUE(store.Enqueue(std::move(items)).ok());
  }
  {
    std::fstream bytes(file_.path(),
                       std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(4096);
    bytes << std::string(100'000, '\xff');
  }
  const absl::StatusOr<std::shared_ptr<WaitStore>> store =
      MakeSqliteWaitStore(file_.path());
  const absl::Status status =
      store.ok() ? Store(*store).Enqueue({{.key = "a"}}).status()
                 : store.status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged")));
}

// Enqueues in transactions of the program.

class SqliteInboxTest : public SqliteStoreTest {
 protected:
  absl::Status Enqueue(const DurableRequest& request) const {
    return EnqueueInSqlite(program_.get(), "default", "n", request);
  }
  std::string Sql(const std::string& sql) const {
    return RunSql(program_.get(), sql);
  }

  const SqliteProgram program_ = file_.Open();
};

TEST_F(SqliteInboxTest, OtherLanguagesEnqueueAndSignalBySql) {
  const Store store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  EXPECT_EQ(Sql("INSERT INTO waiter_inbox(name, key, args) "
                "VALUES ('n', 'text', 'x')"),
            "");
  EXPECT_EQ(store.Get("text").args, "x");
  EXPECT_FALSE(store.Get("text").is_cancelled);
  EXPECT_EQ(Sql("INSERT INTO waiter_inbox(name, key, first_delay_us) "
                "VALUES ('n', 'late', 3600000000)"),
            "");
  const int64_t due = *store.Get("late").due_us;
  EXPECT_EQ(Sql("INSERT INTO waiter_inbox(name, key, signal) "
                "VALUES ('n', 'late', 'notify'), ('n', 'text', 'cancel'), "
                "('n', 'none', 'cancel')"),
            "");
  EXPECT_LT(*store.Get("late").due_us, due);
  EXPECT_TRUE(store.Get("text").is_cancelled);
  EXPECT_THAT(Sql("INSERT INTO waiter_inbox(name, key, signal) "
                  "VALUES ('n', 'text', 'stop')"),
              HasSubstr("CHECK"));
  EXPECT_FALSE(store.Get("none").exists());
}

TEST_F(SqliteInboxTest, MoreRowsThanOneTransactionMovesAllArrive) {
  const Store store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  EXPECT_EQ(Sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                "FROM n WHERE i < 2500) "
                "INSERT INTO waiter_inbox(name, key) SELECT 'n', 'k' || i "
                "FROM n"),
            "");
  for (const char* key : {"k1", "k1000", "k2500"}) store.Get(key);
  EXPECT_TRUE(store.Get("k2500").exists());
  EXPECT_EQ(Sql("SELECT pending FROM waiter_partitions"), "2500");
}

TEST_F(SqliteInboxTest, FileThatNoStoreHasOpenedIsAnError) {
  EXPECT_THAT(Enqueue({.key = "a"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("open the file once")));
}

// Damage by other programs.

TEST_F(SqliteStoreTest, CheckFindsAndRepairsWhatOtherProgramsBreak) {
  const Store store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  ASSERT_TRUE(store
                  .Enqueue({{.key = "adrift", .record = "r"},
                            {.key = "kept", .record = "r"},
                            {.key = "lost", .record = "r"},
                            {.key = "sound", .record = "r"},
                            {.key = "still", .record = "r"}})
                  .ok());
  EXPECT_THAT(store.Faults(false), IsEmpty());
  file_.Run(
      "UPDATE waiter_waits SET due_us = NULL WHERE key = CAST('adrift' AS "
      "BLOB);"
      "UPDATE waiter_waits SET forget = 5 WHERE key = CAST('kept' AS BLOB);"
      "DELETE FROM waiter_waits WHERE key = CAST('lost' AS BLOB);"
      "UPDATE waiter_waits SET record = CAST('2x' AS BLOB), marks = 1 "
      "WHERE key = CAST('still' AS BLOB)");
  const std::vector<std::string> faults = store.Faults(false);
  EXPECT_THAT(faults,
              testing::UnorderedElementsAre(
                  "adrift adrift", "kept not-delivered", "still still-pending",
                  "still leftover", " miscounted"));
  EXPECT_THAT(store.Faults(true), SizeIs(5));
  EXPECT_EQ(store.Get("still").due_us, std::nullopt);
  EXPECT_THAT(store.Claim()->waits, SizeIs(3));
}

// Time.

TEST(SqliteClockTest, TimeFollowsTheWallClockForward) {
  internal::SqliteClock clock(INT64_MIN / 2);
  EXPECT_EQ(clock.Now(5'000'000'000, 100), 5'000'000'000);
  EXPECT_EQ(clock.offset_us(), 5'000'000'000 - 100);
  EXPECT_EQ(clock.Now(9'000'000'000, 200), 9'000'000'000);
  EXPECT_EQ(clock.Now(9'000'000'300, 500), 9'000'000'300);
}

TEST(SqliteClockTest, TimeGoesOnWhenTheWallClockIsSetBack) {
  internal::SqliteClock clock(0);
  EXPECT_EQ(clock.Now(5'000'000'000, 1'000'000), 5'000'000'000);
  EXPECT_EQ(clock.Now(2'000'000'000, 1'500'000), 5'000'500'000);
  EXPECT_EQ(clock.Now(2'000'100'000, 1'600'000), 5'000'600'000);
}

TEST(SqliteClockTest, ProcessesThatReadTheOffsetAgree) {
  internal::SqliteClock first(0);
  first.Now(5'000'000'000, 1'000'000);
  internal::SqliteClock second(first.offset_us());
  EXPECT_EQ(second.Now(1, 2'000'000), first.Now(1, 2'000'000));
}

// The time since the machine's start begins again.
TEST(SqliteClockTest, RestartOfTheMachineTakesTheWallClock) {
  internal::SqliteClock clock(0);
  clock.Now(5'000'000'000, 4'000'000'000);
  EXPECT_EQ(clock.Now(5'100'000'000, 10'000'000), 5'100'000'000);
  EXPECT_EQ(clock.Now(5'100'000'000, 11'000'000), 5'101'000'000);
}

TEST_F(SqliteStoreTest, TimeOfTheFileIsTheMachines) {
  const Store store = MakeStore();
  const int64_t before = absl::ToUnixMicros(absl::Now());
  const EnqueueReply reply = ValueOrFail(store.Enqueue({{.key = "a"}}));
  EXPECT_GE(reply.now_us, before);
  EXPECT_LE(reply.now_us, absl::ToUnixMicros(absl::Now()));
}

// As it may when the machine starts again.
TEST_F(SqliteStoreTest, TimeThatWentBackDelaysNoNewWaits) {
  const auto step = [&](const char* by) {
    file_.Run(absl::StrCat(
        "UPDATE waiter_schema SET offset_us = offset_us + 3600000000 * ", by));
  };
  const Store store = MakeStore();
  ASSERT_TRUE(store.Open().ok());
  step("1");
  ASSERT_TRUE(store.Enqueue({{.key = "held", .record = "r"}}).ok());
  const ClaimReply held = ValueOrFail(store.Claim());
  ASSERT_THAT(held.waits, SizeIs(1));
  step("-1");
  ASSERT_TRUE(store.Enqueue({{.key = "new", .record = "r"}}).ok());
  const ClaimReply claimed = ValueOrFail(store.Claim());
  ASSERT_THAT(claimed.waits, SizeIs(1));
  EXPECT_EQ(claimed.waits.at(0).key, "new");
  EXPECT_EQ(store.Get("held").due_us, held.fence);
  const SettleReply settled =
      ValueOrFail(store.Settle({{.key = "held", .fence = held.fence}}));
  EXPECT_THAT(settled.lost, IsEmpty());
}

// A claim writes one row, whatever the number of its waits.
TEST_F(SqliteStoreTest, ClaimChangesNoWaitAndEndsWithItsLastOne) {
  const Store store = MakeStore();
  ASSERT_TRUE(store
                  .Enqueue({{.key = "a", .record = "r"},
                            {.key = "b", .record = "r"},
                            {.key = "c", .record = "r"}})
                  .ok());
  constexpr const char* kWaits =
      "SELECT group_concat(due_us || ' ' || record) FROM waiter_waits";
  constexpr const char* kClaims =
      "SELECT count(*) || ' ' || coalesce(sum(held), 0) FROM waiter_claims";
  const std::string before = file_.Run(kWaits);
  const ClaimReply two = ValueOrFail(store.Claim(2));
  ASSERT_THAT(two.waits, SizeIs(2));
  EXPECT_EQ(file_.Run(kWaits), before);
  EXPECT_EQ(file_.Run(kClaims), "1 2");
  const ClaimReply one = ValueOrFail(store.Claim(2));
  ASSERT_THAT(one.waits, SizeIs(1));
  // The fence of another claim holds nothing here.
  const SettleReply wrong = ValueOrFail(
      store.Settle({{.key = two.waits.at(0).key, .fence = one.fence},
                    {.key = one.waits.at(0).key, .fence = two.fence}}));
  EXPECT_THAT(wrong.lost, SizeIs(2));
  EXPECT_EQ(file_.Run(kClaims), "2 3");
  for (const ClaimedWait& wait : two.waits) {
    ASSERT_TRUE(store.Settle({{.key = wait.key, .fence = two.fence}}).ok());
  }
  EXPECT_EQ(file_.Run(kClaims), "1 1");
}

TEST_F(SqliteStoreTest, ClockThatWasSetBackIsNoted) {
  {
    const Store store = MakeStore();
    ASSERT_TRUE(store.Open().ok());
  }
  file_.Run("UPDATE waiter_schema SET offset_us = offset_us + 7200000000");
  EXPECT_THAT(ValueOrFail(MakeStore().Check()).servers.at(0).description,
              HasSubstr("ahead of the clock, which was set back"));
}

}  // namespace
}  // namespace waiter::sqlite_store_test

#else  // WAITER_HAS_SQLITE

#include "gtest/gtest.h"

TEST(SqliteStoreTest, NeedsSqlite) { GTEST_SKIP() << "built without SQLite"; }

#endif  // WAITER_HAS_SQLITE
