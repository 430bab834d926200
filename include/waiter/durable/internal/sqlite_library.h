// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions of SQLite that the store of durable waits calls. The library
// calls them through this table, so it builds without SQLite: a program
// provides its own, linked or loaded at run time.

#ifndef WAITER_DURABLE_INTERNAL_SQLITE_LIBRARY_H_
#define WAITER_DURABLE_INTERNAL_SQLITE_LIBRARY_H_

#if __has_include(<sqlite3.h>)
#include <sqlite3.h>
#define WAITER_HAS_SQLITE_HEADER
#endif

// As sqlite3.h declares them.
struct sqlite3;
struct sqlite3_stmt;

namespace waiter::internal {

// The functions, named without "sqlite3_". The newest one came with SQLite 3.20
// (2017); the statements of the store need 3.25 (2018).
struct SqliteLibrary {
  // NOLINTBEGIN(google-runtime-int): as sqlite3.h has them
  int (*bind_blob)(sqlite3_stmt*, int, const void*, int, void (*)(void*));
  int (*bind_int64)(sqlite3_stmt*, int, long long);
  int (*bind_null)(sqlite3_stmt*, int);
  int (*bind_text)(sqlite3_stmt*, int, const char*, int, void (*)(void*));
  int (*busy_handler)(sqlite3*, int (*)(void*, int), void*);
  int (*changes)(sqlite3*);
  int (*close_v2)(sqlite3*);
  const void* (*column_blob)(sqlite3_stmt*, int);
  int (*column_bytes)(sqlite3_stmt*, int);
  long long (*column_int64)(sqlite3_stmt*, int);
  int (*column_type)(sqlite3_stmt*, int);
  int (*db_readonly)(sqlite3*, const char*);
  const char* (*errmsg)(sqlite3*);
  int (*exec)(sqlite3*, const char*, int (*)(void*, int, char**, char**), void*,
              char**);
  int (*extended_errcode)(sqlite3*);
  int (*finalize)(sqlite3_stmt*);
  int (*get_autocommit)(sqlite3*);
  long long (*last_insert_rowid)(sqlite3*);
  const char* (*libversion)();
  int (*libversion_number)();
  int (*open_v2)(const char*, sqlite3**, int, const char*);
  int (*prepare_v3)(sqlite3*, const char*, int, unsigned int, sqlite3_stmt**,
                    const char**);
  int (*reset)(sqlite3_stmt*);
  int (*step)(sqlite3_stmt*);
  void* (*wal_hook)(sqlite3*, int (*)(void*, sqlite3*, const char*, int),
                    void*);
  // NOLINTEND(google-runtime-int)
};

#ifdef WAITER_HAS_SQLITE_HEADER

// Returns the functions of the SQLite that the program links.
inline const SqliteLibrary& LinkedSqlite() {
  static constexpr SqliteLibrary kLibrary = {
      .bind_blob = &sqlite3_bind_blob,
      .bind_int64 = &sqlite3_bind_int64,
      .bind_null = &sqlite3_bind_null,
      .bind_text = &sqlite3_bind_text,
      .busy_handler = &sqlite3_busy_handler,
      .changes = &sqlite3_changes,
      .close_v2 = &sqlite3_close_v2,
      .column_blob = &sqlite3_column_blob,
      .column_bytes = &sqlite3_column_bytes,
      .column_int64 = &sqlite3_column_int64,
      .column_type = &sqlite3_column_type,
      .db_readonly = &sqlite3_db_readonly,
      .errmsg = &sqlite3_errmsg,
      .exec = &sqlite3_exec,
      .extended_errcode = &sqlite3_extended_errcode,
      .finalize = &sqlite3_finalize,
      .get_autocommit = &sqlite3_get_autocommit,
      .last_insert_rowid = &sqlite3_last_insert_rowid,
      .libversion = &sqlite3_libversion,
      .libversion_number = &sqlite3_libversion_number,
      .open_v2 = &sqlite3_open_v2,
      .prepare_v3 = &sqlite3_prepare_v3,
      .reset = &sqlite3_reset,
      .step = &sqlite3_step,
      .wal_hook = &sqlite3_wal_hook,
  };
  return kLibrary;
}

#endif  // WAITER_HAS_SQLITE_HEADER

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_INTERNAL_SQLITE_LIBRARY_H_
