// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A connection to an SQLite file, and its statements:
//
//   for (SqliteRows rows = file.Query("SELECT key FROM t WHERE n = ?", 3);
//        rows.Next();) {
//     keys.push_back(rows.Bytes(0));
//   }
//   if (file.Run("DELETE FROM t WHERE n = ?", 3) == 0) ...
//   if (!file.status().ok()) ...
//
// The first error of a transaction stays until the transaction ends. After it,
// queries have no rows and statements change nothing, so the code of a
// transaction looks at the status once, at its end.

#ifndef WAITER_DURABLE_STORE_SQLITE_SQLITE_CONNECTION_H_
#define WAITER_DURABLE_STORE_SQLITE_SQLITE_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/durable/internal/sqlite_library.h"

namespace waiter::internal {

// SQLITE_OK and so on of sqlite3.h; the numbers never change.
inline constexpr int kSqliteOk = 0;
inline constexpr int kSqliteBusy = 5;
inline constexpr int kSqliteRow = 100;
inline constexpr int kSqliteDone = 101;

// Parameters of a statement: numbers, text, bytes (`SqliteBlob`), or bytes that
// may be NULL (`std::optional<SqliteBlob>`).
struct SqliteBlob {
  std::string_view bytes;
};

// Returns an error for a result code: what went wrong with the file `path`, and
// what to do.
absl::Status SqliteStatus(const std::string& path, int code,
                          std::string_view message);

class SqliteConnection;

// The rows of a query, while this lives. Movable once.
class SqliteRows {
 public:
  SqliteRows(SqliteConnection& connection, sqlite3_stmt* statement)
      : connection_(connection), statement_(statement) {}
  ~SqliteRows();

  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  // Goes to the next row, or the first one. Returns false at the end.
  bool Next();

  // Return columns of the row. NULL is zero, or empty.
  int64_t Number(int column) const;
  std::string Bytes(int column) const;
  bool IsNull(int column) const;
  std::optional<int64_t> OptionalNumber(int column) const;

 private:
  SqliteConnection& connection_;
  sqlite3_stmt* const statement_;  // Null after an error.
};

// Thread-compatible.
class SqliteConnection {
 public:
  // Whether a file that does not exist is created.
  enum class Missing : uint8_t { kCreate, kIsAnError };

  // Opens the file.
  static absl::StatusOr<std::unique_ptr<SqliteConnection>> Open(
      const SqliteLibrary& library, const std::string& path,
      std::chrono::nanoseconds busy_timeout,
      Missing missing = Missing::kCreate);
  ~SqliteConnection();

  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  // The text of a statement must live as long as this.
  template <typename... Parameters>
  SqliteRows Query(const char* sql, const Parameters&... parameters) {
    sqlite3_stmt* const statement = Prepare(sql);
    [[maybe_unused]] int index = 0;
    if (statement != nullptr) (Bind(statement, ++index, parameters), ...);
    return {*this, statement};
  }

  // Returns the first column of the first row. Without a row, and for NULL, it
  // is nullopt.
  template <typename... Parameters>
  std::optional<int64_t> Number(const char* sql,
                                const Parameters&... parameters) {
    SqliteRows rows = Query(sql, parameters...);
    return rows.Next() ? rows.OptionalNumber(0) : std::nullopt;
  }

  // Runs a statement without rows. Returns the number of rows it has changed.
  template <typename... Parameters>
  int64_t Run(const char* sql, const Parameters&... parameters) {
    {
      SqliteRows rows = Query(sql, parameters...);
      rows.Next();
    }
    return status_.ok() ? library_.changes(connection_) : 0;
  }

  // Runs several statements, once.
  void RunScript(const std::string& sql);

  int64_t last_insert_rowid() const {
    return library_.last_insert_rowid(connection_);
  }

  // Begins a transaction, for writing or only for reading.
  absl::Status Begin(bool writes);
  // Ends it, with all changes or, after an error, without any. If it is not
  // known which, the error is kUnavailable.
  absl::Status Commit();
  void Rollback();

  const absl::Status& status() const { return status_; }
  // Breaks the transaction.
  void Fail(const absl::Status& status) { status_.Update(status); }

  // The pages of the log after the last commit of this connection, whoever
  // wrote them. SQLite does not copy them into the file by itself.
  int64_t log_pages() const { return log_pages_; }

  const std::string& path() const { return path_; }
  const SqliteLibrary& library() const { return library_; }

 private:
  friend class SqliteRows;

  SqliteConnection(const SqliteLibrary& library, std::string path,
                   std::chrono::nanoseconds busy_timeout)
      : library_(library),
        path_(std::move(path)),
        busy_timeout_(busy_timeout) {}

  absl::Status OpenFile(Missing missing);
  static int OnBusy(void* self, int count);
  static int OnLog(void* self, sqlite3* connection, const char* name,
                   int pages);

  // Returns null after an error.
  sqlite3_stmt* Prepare(const char* sql);
  void Bind(sqlite3_stmt* statement, int index, int64_t number) const;
  void Bind(sqlite3_stmt* statement, int index, SqliteBlob blob) const;
  void Bind(sqlite3_stmt* statement, int index, std::string_view text) const;
  void Bind(sqlite3_stmt* statement, int index,
            const std::optional<SqliteBlob>& blob) const;

  absl::Status LastError() const;

  const SqliteLibrary& library_;
  const std::string path_;
  const std::chrono::nanoseconds busy_timeout_;
  sqlite3* connection_ = nullptr;
  // By the address of their text.
  absl::flat_hash_map<const char*, sqlite3_stmt*> statements_;
  absl::Status status_;
  int64_t log_pages_ = 0;
  MonotonicTime busy_until_ = {};
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_SQLITE_SQLITE_CONNECTION_H_
