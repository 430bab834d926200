// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/sqlite_library.h"

#include "absl/status/statusor.h"
#include "cli/text/find_symbol.h"
#include "waiter/durable/sqlite_store.h"

namespace waiter::cli {
namespace {

using internal::SqliteLibrary;

#ifdef __APPLE__
constexpr const char* kSqliteFile = "libsqlite3.dylib";
#else
// The name of its ABI since 2004.
constexpr const char* kSqliteFile = "libsqlite3.so.0";
#endif

bool FindSqliteFunctions(void* library, SqliteLibrary& sqlite) {
  return FindSymbol(library, "sqlite3_bind_blob", sqlite.bind_blob) &&
         FindSymbol(library, "sqlite3_bind_int64", sqlite.bind_int64) &&
         FindSymbol(library, "sqlite3_bind_null", sqlite.bind_null) &&
         FindSymbol(library, "sqlite3_bind_text", sqlite.bind_text) &&
         FindSymbol(library, "sqlite3_busy_handler", sqlite.busy_handler) &&
         FindSymbol(library, "sqlite3_changes", sqlite.changes) &&
         FindSymbol(library, "sqlite3_close_v2", sqlite.close_v2) &&
         FindSymbol(library, "sqlite3_column_blob", sqlite.column_blob) &&
         FindSymbol(library, "sqlite3_column_bytes", sqlite.column_bytes) &&
         FindSymbol(library, "sqlite3_column_int64", sqlite.column_int64) &&
         FindSymbol(library, "sqlite3_column_type", sqlite.column_type) &&
         FindSymbol(library, "sqlite3_db_readonly", sqlite.db_readonly) &&
         FindSymbol(library, "sqlite3_errmsg", sqlite.errmsg) &&
         FindSymbol(library, "sqlite3_exec", sqlite.exec) &&
         FindSymbol(library, "sqlite3_extended_errcode",
                    sqlite.extended_errcode) &&
         FindSymbol(library, "sqlite3_finalize", sqlite.finalize) &&
         FindSymbol(library, "sqlite3_get_autocommit", sqlite.get_autocommit) &&
         FindSymbol(library, "sqlite3_last_insert_rowid",
                    sqlite.last_insert_rowid) &&
         FindSymbol(library, "sqlite3_libversion", sqlite.libversion) &&
         FindSymbol(library, "sqlite3_libversion_number",
                    sqlite.libversion_number) &&
         FindSymbol(library, "sqlite3_open_v2", sqlite.open_v2) &&
         FindSymbol(library, "sqlite3_prepare_v3", sqlite.prepare_v3) &&
         FindSymbol(library, "sqlite3_reset", sqlite.reset) &&
         FindSymbol(library, "sqlite3_step", sqlite.step) &&
         FindSymbol(library, "sqlite3_wal_hook", sqlite.wal_hook);
}

}  // namespace

absl::StatusOr<const SqliteLibrary*> LoadSqlite() {
  return OpenLibrary(
      kSqliteFile, FindSqliteFunctions,
      "--store=FILE needs libsqlite3.so.0, which is not installed here: "
      "install the package libsqlite3-0, or use --store=postgres://HOST",
      "--store=FILE needs SQLite 3.25 or newer, but the libsqlite3.so.0 here "
      "is older: upgrade it, or use --store=redis://HOST");
}

}  // namespace waiter::cli
