// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stores durable waits in a PostgreSQL database, for processes on many
// machines:
//
//   absl::StatusOr<std::shared_ptr<waiter::WaitStore>> store =
//       waiter::MakePostgresWaitStore("postgres://app@db/app");
//   if (!store.ok()) return store.status();
//   auto client = waiter::DurableClient::Make(*store, {.space = "prod"});
//
// To enqueue a wait in your program's own transaction, so that the wait exists
// if and only if your rows do, run the statement of `PostgresEnqueue` with your
// driver:
//
//   waiter::SqlStatement enqueue = *waiter::PostgresEnqueue(
//       "prod", "order-shipped", {.key = "17", .args = "eu-west-1"});
//   PQexecParams(connection, enqueue.sql.c_str(), ...);  // enqueue.parameters
//
// or, from any language, `SELECT waiter.enqueue('prod', 'order-shipped',
// '17')`.
//
// Your program must link libpq 14 or newer; the server must be PostgreSQL 13 or
// newer. docs/durable.md describes the tables and the effects of failures.

#ifndef WAITER_DURABLE_POSTGRES_STORE_H_
#define WAITER_DURABLE_POSTGRES_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/internal/postgres_library.h"
#include "waiter/durable/store.h"
#include "waiter/version.h"

namespace waiter {

struct PostgresStoreOptions {
  // The schema with the tables, which is created if it is missing. 1 to 63 of
  // the characters a-z, 0-9 and _, not beginning with a digit.
  std::string schema = "waiter";

  // Time limit of a request, from the call to the reply. Within [100ms, 10min].
  // If it passes before the request is sent, the error is kAborted, otherwise
  // kUnavailable.
  Duration call_timeout = absl::Seconds(5);

  // Whether each transaction is on the server's disk when its callback runs, as
  // far as the server's own settings allow. If false (synchronous_commit=off),
  // a crash of the server loses the transactions of the last 0.6 s.
  bool syncs = true;
};

// An SQL statement and the values of $1, $2 and so on. Bytes are in
// PostgreSQL's text format, such as `\x6162`.
struct SqlStatement {
  std::string sql;
  std::vector<std::optional<std::string>> parameters;  // Unset: NULL.
};

// Returns the statement that adds a wait. It locks nothing that other
// transactions need. A worker finds the wait once the transaction is committed.
// `DurableClientOptions::max_pending` does not limit these waits. No worker
// polls the wait before a client or worker has used the name.
//
// Returns kInvalidArgument if the request, a name or the schema is invalid.
absl::StatusOr<SqlStatement> PostgresEnqueue(
    std::string_view space, std::string_view name,
    const DurableRequest& request, std::string_view schema = "waiter");

// Return the statement that asks that a wait end as cancelled, or be polled
// immediately. It has no effect if the wait does not exist.
absl::StatusOr<SqlStatement> PostgresCancel(std::string_view space,
                                            std::string_view name,
                                            std::string_view key,
                                            std::string_view schema = "waiter");
absl::StatusOr<SqlStatement> PostgresNotify(std::string_view space,
                                            std::string_view name,
                                            std::string_view key,
                                            std::string_view schema = "waiter");

// Returns the script that creates the schema and its tables, or updates older
// ones, in one transaction. A store runs it if its role has the rights; if not,
// an administrator must run it. Returns kInvalidArgument if `schema` is
// invalid.
absl::StatusOr<std::string> PostgresStoreSchema(
    std::string_view schema = "waiter");

namespace internal {

// Like `waiter::MakePostgresWaitStore`, but with `library` instead of the
// linked libpq.
absl::StatusOr<std::shared_ptr<WaitStore>> MakePostgresWaitStore(
    const PostgresLibrary& library, const std::string& url,
    const PostgresStoreOptions& options);

}  // namespace internal

#ifdef WAITER_HAS_LIBPQ_HEADER

// Connects in the background, and reconnects whenever the connection breaks.
// `url` is a libpq connection string: a URL, or keywords such as "host=/tmp
// dbname=app"; libpq takes the rest from environment variables such as
// PGPASSWORD. With several hosts, add target_session_attrs=read-write. Does not
// block, but libpq may block the store's thread, and with it the destruction of
// the store, while it looks up the address of a host.
//
// The store has one thread and one connection, which it does not share and
// whose session holds no state. PgBouncer may be in between, even with
// pool_mode=transaction.
//
// Returns kInvalidArgument for invalid options, and kFailedPrecondition if
// libpq is too old. Requests return all other errors: kFailedPrecondition if
// the tables are of a newer version or the server is read-only,
// kPermissionDenied and kUnauthenticated from the server, and kAborted for
// temporary errors.
inline absl::StatusOr<std::shared_ptr<WaitStore>> MakePostgresWaitStore(
    const std::string& url, const PostgresStoreOptions& options = {}) {
  return internal::MakePostgresWaitStore(internal::LinkedPostgres(), url,
                                         options);
}

#endif  // WAITER_HAS_LIBPQ_HEADER

}  // namespace waiter

#endif  // WAITER_DURABLE_POSTGRES_STORE_H_
