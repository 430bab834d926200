// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The tables of durable waits in an SQLite file; docs/durable.md describes
// them.

#ifndef WAITER_DURABLE_STORE_SQLITE_SQLITE_SCHEMA_H_
#define WAITER_DURABLE_STORE_SQLITE_SQLITE_SCHEMA_H_

#include "absl/status/status.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"

namespace waiter::internal {

// Sets the connection up and creates the tables if they are missing. Returns an
// error if the file is something else, or of a newer version. Such a file is
// not changed.
absl::Status PrepareSqliteFile(SqliteConnection& file,
                               const SqliteStoreOptions& options);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_SQLITE_SQLITE_SCHEMA_H_
