// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stores durable waits in an SQLite file, for all processes on one machine. It
// needs no server:
//
//   absl::StatusOr<std::shared_ptr<waiter::WaitStore>> store =
//       waiter::MakeSqliteWaitStore("jobs.db");
//   if (!store.ok()) return store.status();
//   auto client = waiter::DurableClient::Make(*store, {.space = "prod"});
//
// To enqueue a wait in your program's own transaction, let the store use your
// program's file (`shares_file`), and call `EnqueueInSqlite` on your
// connection. The wait then exists if and only if your own rows do:
//
//   sqlite3_exec(db, "BEGIN", ...);
//   sqlite3_exec(db, "INSERT INTO orders ...", ...);
//   absl::Status status = waiter::EnqueueInSqlite(
//       db, "default", "order-shipped", {.key = "17", .args = "eu-west-1"});
//   sqlite3_exec(db, status.ok() ? "COMMIT" : "ROLLBACK", ...);
//
// Your program must link SQLite 3.25 or newer, built thread-safe, the default.
// docs/durable.md describes the tables and the effects of failures.

#ifndef WAITER_DURABLE_SQLITE_STORE_H_
#define WAITER_DURABLE_SQLITE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/internal/sqlite_library.h"
#include "waiter/durable/store.h"
#include "waiter/version.h"

namespace waiter {

struct SqliteStoreOptions {
  // Whether each transaction is on the disk when its callback runs
  // (synchronous=FULL). If false (NORMAL), the last transactions are lost when
  // the machine loses power or its kernel crashes. If a process dies, nothing
  // is lost in either case.
  bool syncs = true;

  // How long a request waits for other processes that write. Within [0, 1min].
  // Then it fails with kAborted.
  Duration busy_timeout = absl::Seconds(5);

  // Whether the file may also contain your program's tables; the store's tables
  // begin with "waiter_". If false, a file with other tables is refused.
  bool shares_file = false;

  // Maximum size of the file, in bytes; more waits are refused. At least 1 MiB;
  // zero: no limit. The log next to the file is not counted.
  int64_t max_bytes = 0;
};

namespace internal {

// Like `waiter::MakeSqliteWaitStore`, but with `library` instead of the linked
// SQLite.
absl::StatusOr<std::shared_ptr<WaitStore>> MakeSqliteWaitStore(
    const SqliteLibrary& library, const std::string& path,
    const SqliteStoreOptions& options);

absl::Status EnqueueInSqlite(const SqliteLibrary& library, sqlite3* connection,
                             std::string_view space, std::string_view name,
                             const DurableRequest& request);

}  // namespace internal

#ifdef WAITER_HAS_SQLITE_HEADER

// Opens the file, or creates it. Blocks for as long as that takes. The file
// must be on a local disk, as must the files "PATH-wal" and "PATH-shm" next to
// it. The store has one thread, which makes all calls, and at times another
// one, which copies the log into the file.
//
// Errors name the file and what to do:
//
// * kInvalidArgument for invalid options
// * kFailedPrecondition if the file is not a store, or of a newer version
// * kPermissionDenied if it cannot be opened or written
// * kAborted if other programs lock it
// * kResourceExhausted if the disk is full
// * kDataLoss if it is damaged
inline absl::StatusOr<std::shared_ptr<WaitStore>> MakeSqliteWaitStore(
    const std::string& path, const SqliteStoreOptions& options = {}) {
  return internal::MakeSqliteWaitStore(internal::LinkedSqlite(), path, options);
}

// Adds a wait in the current transaction of `connection`, whose main database
// must be a file that a store has opened before; otherwise the error is
// kFailedPrecondition. After the commit, a worker finds the wait as soon as it
// finds waits of other processes. `DurableClientOptions::max_pending` does not
// limit these waits. No worker polls the wait before a client or worker has
// used the name.
//
// Runs `kSqliteEnqueue`, which programs in other languages can also run.
inline absl::Status EnqueueInSqlite(sqlite3* connection, std::string_view space,
                                    std::string_view name,
                                    const DurableRequest& request) {
  return internal::EnqueueInSqlite(internal::LinkedSqlite(), connection, space,
                                   name, request);
}

#endif  // WAITER_HAS_SQLITE_HEADER

// Adds a wait. The parameters are the space, the name, the key and the
// arguments; the timeout in microseconds, or NULL for the workers'; and the
// delay before the first poll, in microseconds. The table checks them.
inline constexpr std::string_view kSqliteEnqueue =
    "INSERT INTO waiter_inbox (space, name, key, args, timeout_us, "
    "first_delay_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

// Ask that a wait end as cancelled, or be polled immediately. The parameters
// are the space, the name and the key. These statements have no effect if the
// wait does not exist.
inline constexpr std::string_view kSqliteCancel =
    "INSERT INTO waiter_inbox (space, name, key, signal) "
    "VALUES (?1, ?2, ?3, 'cancel')";
inline constexpr std::string_view kSqliteNotify =
    "INSERT INTO waiter_inbox (space, name, key, signal) "
    "VALUES (?1, ?2, ?3, 'notify')";

}  // namespace waiter

#endif  // WAITER_DURABLE_SQLITE_STORE_H_
