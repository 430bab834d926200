// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WAITER_HAS_SQLITE

#include "waiter/durable/store/sqlite/sqlite_log_copier.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/durable/sqlite_file.h"
#include "waiter/durable/internal/sqlite_library.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"

namespace waiter::sqlite_log_copier_test {
namespace {

using internal::SqliteBlob;
using internal::SqliteConnection;
using internal::SqliteLogCopier;

constexpr int64_t kLongLog = 50;

class SqliteLogCopierTest : public testing::Test {
 protected:
  SqliteLogCopierTest() {
    absl::StatusOr<std::unique_ptr<SqliteConnection>> connection =
        SqliteConnection::Open(internal::LinkedSqlite(), file_.path(),
                               std::chrono::seconds(10));
    EXPECT_EQ(connection.status(), absl::OkStatus());
    connection_ = *std::move(connection);
    connection_->RunScript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; "
        "CREATE TABLE t(bytes BLOB)");
  }

  // Adds a row, which takes a page or two of the log. Returns its length.
  int64_t Write(SqliteLogCopier& copier) {
    const std::string bytes(3000, 'b');
    EXPECT_EQ(connection_->Begin(/*writes=*/true), absl::OkStatus());
    connection_->Run("INSERT INTO t VALUES(?)", SqliteBlob{bytes});
    const absl::Status status = connection_->Commit();
    EXPECT_EQ(status, absl::OkStatus());
    copier.OnCommit(status);
    ++rows_;
    return connection_->log_pages();
  }

  // Writes until the log has started over. Returns the most pages that it had.
  int64_t WriteUntilTheLogIsShort(SqliteLogCopier& copier) {
    int64_t most = 0;
    while (true) {
      const int64_t pages = Write(copier);
      if (pages < most) return most;
      most = pages;
    }
  }

  void ExpectAllRows() {
    EXPECT_EQ(file_.Run("SELECT count(*) FROM t"), absl::StrCat(rows_));
    EXPECT_EQ(file_.Run("PRAGMA integrity_check"), "ok");
  }

  const SqliteFile file_;
  std::unique_ptr<SqliteConnection> connection_;
  int64_t rows_ = 0;
};

TEST_F(SqliteLogCopierTest, LogThatGotLongIsCopiedWhileItIsWritten) {
  SqliteLogCopier copier(*connection_, kLongLog);
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(WriteUntilTheLogIsShort(copier), kLongLog);
  }
  ExpectAllRows();
}

TEST_F(SqliteLogCopierTest, LogThatAReaderNeedsGrowsUntilTheReaderEnds) {
  SqliteLogCopier copier(*connection_, kLongLog);
  Write(copier);
  const SqliteProgram reader = file_.Open();
  EXPECT_EQ(RunSql(reader.get(), "BEGIN; SELECT count(*) FROM t"), "1");
  for (int64_t pages = 0; pages < 10 * kLongLog;) {
    const int64_t before = std::exchange(pages, Write(copier));
    ASSERT_GT(pages, before);
  }
  EXPECT_EQ(RunSql(reader.get(), "SELECT count(*) FROM t; COMMIT"), "1");
  EXPECT_GE(WriteUntilTheLogIsShort(copier), 10 * kLongLog);
  ExpectAllRows();
}

// The thread opens the file later.
TEST_F(SqliteLogCopierTest, NoFileIsCreatedInPlaceOfOneThatIsGone) {
  SqliteLogCopier copier(*connection_, kLongLog);
  file_.Remove();
  EXPECT_GE(WriteUntilTheLogIsShort(copier), kLongLog);
  EXPECT_FALSE(std::filesystem::exists(file_.path()));
}

TEST_F(SqliteLogCopierTest, FullFileIsReasonEnoughForACopy) {
  SqliteLogCopier copier(*connection_);
  int64_t pages = 0;
  for (int i = 0; i < 10; ++i) pages = Write(copier);
  copier.OnCommit(absl::ResourceExhaustedError("full"));
  EXPECT_LT(Write(copier), pages);
}

TEST_F(SqliteLogCopierTest, CopierMayBeDestroyedAtAnyTime) {
  for (int i = 0; i < 100; ++i) {
    SqliteLogCopier copier(*connection_, /*long_log=*/1);
    for (int j = 0; j <= i % 10; ++j) Write(copier);
  }
  ExpectAllRows();
}

}  // namespace
}  // namespace waiter::sqlite_log_copier_test

#endif  // WAITER_HAS_SQLITE
