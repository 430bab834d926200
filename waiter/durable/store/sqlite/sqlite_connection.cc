// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/sqlite/sqlite_connection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/clock.h"
#include "waiter/durable/internal/sqlite_library.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

// Other result codes of sqlite3.h.
constexpr int kLocked = 6;
constexpr int kReadOnly = 8;
constexpr int kIoError = 10;
constexpr int kCorrupt = 11;
constexpr int kFull = 13;
constexpr int kCannotOpen = 14;
constexpr int kNotADatabase = 26;
constexpr int kNullType = 5;

constexpr int kOpenReadWrite = 0x2;
constexpr int kOpenCreate = 0x4;
constexpr unsigned int kPreparePersistent = 1;
// The statements have upserts.
constexpr int kMinVersion = 3'025'000;

// Between two attempts to get a lock.
constexpr std::chrono::microseconds kMinBusyGap(200);
constexpr std::chrono::microseconds kMaxBusyGap(5000);

struct Advice {
  int code;
  absl::StatusCode status;
  const char* text;
};

constexpr std::array kAdvice = {
    Advice{kSqliteBusy, absl::StatusCode::kAborted,
           "is locked by another program; end the program that keeps a "
           "transaction "
           "open on it, or wait"},
    Advice{kLocked, absl::StatusCode::kAborted,
           "is locked by another program; end the program that keeps a "
           "transaction "
           "open on it, or wait"},
    Advice{
        kReadOnly, absl::StatusCode::kPermissionDenied,
        "cannot be written; allow this user to write the file and its folder"},
    Advice{kCannotOpen, absl::StatusCode::kPermissionDenied,
           "cannot be opened; its folder must exist, and this user must be "
           "allowed "
           "to write both"},
    Advice{kFull, absl::StatusCode::kResourceExhausted,
           "has no room to grow; free space on its disk, or raise max_bytes"},
    Advice{kNotADatabase, absl::StatusCode::kFailedPrecondition,
           "is not an SQLite file, or is encrypted; name another file"},
    Advice{kCorrupt, absl::StatusCode::kDataLoss,
           "is damaged; restore a backup, or salvage the rest with "
           "`sqlite3 FILE "
           ".recover`"},
    Advice{kIoError, absl::StatusCode::kInternal,
           "cannot be read or written; check its disk, which must belong to "
           "this machine"},
};

}  // namespace

absl::Status SqliteStatus(const std::string& path, int code,
                          std::string_view message) {
  for (const Advice& advice : kAdvice) {
    if (advice.code != (code & 0xFF)) continue;
    return {advice.status, absl::StrCat(path, " ", advice.text, " (SQLite: ",
                                        ToAbsl(message), ", ", code, ")")};
  }
  return absl::InternalError(absl::StrCat(
      path, ": SQLite failed: ", ToAbsl(message), " (", code, ")"));
}

SqliteRows::~SqliteRows() {
  if (statement_ != nullptr) connection_.library_.reset(statement_);
}

bool SqliteRows::Next() {
  if (statement_ == nullptr || !connection_.status_.ok()) return false;
  const int code = connection_.library_.step(statement_);
  if (code == kSqliteRow) return true;
  if (code != kSqliteDone) connection_.Fail(connection_.LastError());
  return false;
}

int64_t SqliteRows::Number(int column) const {
  return connection_.library_.column_int64(statement_, column);
}

std::string SqliteRows::Bytes(int column) const {
  const void* const data = connection_.library_.column_blob(statement_, column);
  if (data == nullptr) return "";
  const int size = connection_.library_.column_bytes(statement_, column);
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

bool SqliteRows::IsNull(int column) const {
  return connection_.library_.column_type(statement_, column) == kNullType;
}

std::optional<int64_t> SqliteRows::OptionalNumber(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Number(column);
}

absl::StatusOr<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(
    const SqliteLibrary& library, const std::string& path,
    std::chrono::nanoseconds busy_timeout, Missing missing) {
  if (library.libversion_number() < kMinVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "SQLite is ", library.libversion(), "; the store needs 3.25 or newer"));
  }
  auto connection =
      absl::WrapUnique(new SqliteConnection(library, path, busy_timeout));
  if (absl::Status status = connection->OpenFile(missing); !status.ok()) {
    return status;
  }
  return connection;
}

absl::Status SqliteConnection::OpenFile(Missing missing) {
  const int code = library_.open_v2(path_.c_str(), &connection_,
                                    missing == Missing::kCreate
                                        ? kOpenReadWrite | kOpenCreate
                                        : kOpenReadWrite,
                                    nullptr);
  if (code != kSqliteOk) {
    if (connection_ == nullptr) return SqliteStatus(path_, code, "no memory");
    return LastError();
  }
  library_.busy_handler(connection_, &OnBusy, this);
  library_.wal_hook(connection_, &OnLog, this);
  if (library_.db_readonly(connection_, "main") == 1) {
    return SqliteStatus(path_, kReadOnly, "read-only");
  }
  return absl::OkStatus();
}

SqliteConnection::~SqliteConnection() {
  for (const auto& [sql, statement] : statements_) {
    library_.finalize(statement);
  }
  library_.close_v2(connection_);
}

// Called while another connection has the lock. SQLite's own handler sleeps for
// up to 100 ms, while the lock may become free several times.
int SqliteConnection::OnBusy(void* self, int count) {
  auto& connection = *static_cast<SqliteConnection*>(self);
  const MonotonicTime now = GetRealClock().MonotonicNow();
  if (count == 0) connection.busy_until_ = now + connection.busy_timeout_;
  if (now >= connection.busy_until_) return 0;
  std::this_thread::sleep_for(
      std::min(kMaxBusyGap, kMinBusyGap * (1 + count / 4)));
  return 1;
}

int SqliteConnection::OnLog(void* self, sqlite3* /*connection*/,
                            const char* /*name*/, int pages) {
  static_cast<SqliteConnection*>(self)->log_pages_ = pages;
  return kSqliteOk;
}

sqlite3_stmt* SqliteConnection::Prepare(const char* sql) {
  if (!status_.ok()) return nullptr;
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr &&
      library_.prepare_v3(connection_, sql, -1, kPreparePersistent, &statement,
                          nullptr) != kSqliteOk) {
    Fail(LastError());
  }
  return statement;
}

// The values outlive the call of the statement, so nothing is copied.

void SqliteConnection::Bind(sqlite3_stmt* statement, int index,
                            int64_t number) const {
  library_.bind_int64(statement, index, number);
}

void SqliteConnection::Bind(sqlite3_stmt* statement, int index,
                            SqliteBlob blob) const {
  // With a null address, the value would be NULL.
  const char* const data = blob.bytes.empty() ? "" : blob.bytes.data();
  library_.bind_blob(statement, index, data,
                     static_cast<int>(blob.bytes.size()), nullptr);
}

void SqliteConnection::Bind(sqlite3_stmt* statement, int index,
                            std::string_view text) const {
  const char* const data = text.empty() ? "" : text.data();
  library_.bind_text(statement, index, data, static_cast<int>(text.size()),
                     nullptr);
}

void SqliteConnection::Bind(sqlite3_stmt* statement, int index,
                            const std::optional<SqliteBlob>& blob) const {
  if (blob.has_value()) return Bind(statement, index, *blob);
  library_.bind_null(statement, index);
}

void SqliteConnection::RunScript(const std::string& sql) {
  if (!status_.ok()) return;
  if (library_.exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) !=
      kSqliteOk) {
    Fail(LastError());
  }
}

absl::Status SqliteConnection::LastError() const {
  return SqliteStatus(path_, library_.extended_errcode(connection_),
                      library_.errmsg(connection_));
}

absl::Status SqliteConnection::Begin(bool writes) {
  status_ = absl::OkStatus();
  Run(writes ? "BEGIN IMMEDIATE" : "BEGIN");
  return status_;
}

absl::Status SqliteConnection::Commit() {
  if (!status_.ok()) {
    absl::Status status = status_;
    Rollback();
    return status;
  }
  Run("COMMIT");
  if (status_.ok()) return status_;
  // Pages may have reached the log, where the next process to open the file may
  // find them. A lock or a full disk stops the commit before the page that
  // decides.
  absl::Status status = status_;
  if (!absl::IsAborted(status) && !absl::IsResourceExhausted(status)) {
    status = absl::UnavailableError(
        absl::StrCat("the outcome is unknown: ", status.message()));
  }
  Rollback();
  return status;
}

void SqliteConnection::Rollback() {
  status_ = absl::OkStatus();
  // Some errors have ended the transaction.
  if (library_.get_autocommit(connection_) == 0) Run("ROLLBACK");
  status_ = absl::OkStatus();
}

}  // namespace waiter::internal
