// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The store of durable waits in a PostgreSQL database, for the processes of
// many machines:
//
//   absl::StatusOr<std::shared_ptr<waiter::WaitStore>> store =
//       waiter::MakePostgresWaitStore("postgres://app@db/app");
//   if (!store.ok()) return store.status();
//   auto client = waiter::DurableClient::Make(*store, {.space = "prod"});
//
// To enqueue a wait in a transaction of your program, so that the wait exists
// if and only if your own rows do, run `PostgresEnqueue` with your own driver:
//
//   waiter::SqlStatement enqueue = *waiter::PostgresEnqueue(
//       "prod", "order-shipped", {.key = "17", .args = "eu-west-1"});
//   PQexecParams(connection, enqueue.sql.c_str(), ...);  // enqueue.parameters
//
// or, from any language, `SELECT waiter.enqueue('prod', 'order-shipped',
// '17')`.
//
// Your program links libpq 14 or newer; the server is PostgreSQL 13 or newer.
// docs/durable.md describes the tables and the effects of failures.

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
  // a-z, 0-9 and _, without a digit in front.
  std::string schema = "waiter";

  // Time limit of a request, from the call to the reply. Within [100ms, 10min].
  // If it passes before the request is sent, the error is kAborted, and
  // kUnavailable otherwise.
  Duration call_timeout = absl::Seconds(5);

  // Whether each transaction is on the server's disk when its callback runs, as
  // far as the server's own settings say so. If not (synchronous_commit=off),
  // the server's crash loses the transactions of the last 0.6 s.
  bool syncs = true;
};

// A statement of SQL and the values of $1, $2 and so on. Bytes are written as
// PostgreSQL reads them as text, such as `\x6162`.
struct SqlStatement {
  std::string sql;
  std::vector<std::optional<std::string>> parameters;  // Unset: NULL.
};

// Returns the statement that adds a wait. It locks nothing that other
// transactions need. A worker finds the wait once the transaction is committed.
// `DurableClientOptions::max_pending` does not limit these waits. No worker
// polls the wait before a client or worker has used the name.
//
// kInvalidArgument if the request, a name or the schema is out of range.
absl::StatusOr<SqlStatement> PostgresEnqueue(
    std::string_view space, std::string_view name,
    const DurableRequest& request, std::string_view schema = "waiter");

// Return the statement that asks that a wait ends as cancelled, or that it is
// polled immediately. It does nothing if there is no such wait.
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
// an administrator must run it. kInvalidArgument if `schema` is not a valid
// name.
absl::StatusOr<std::string> PostgresStoreSchema(
    std::string_view schema = "waiter");

namespace internal {

// Like `waiter::MakePostgresWaitStore`, with another libpq than the linked one.
absl::StatusOr<std::shared_ptr<WaitStore>> MakePostgresWaitStore(
    const PostgresLibrary& library, const std::string& url,
    const PostgresStoreOptions& options);

}  // namespace internal

#ifdef WAITER_HAS_LIBPQ_HEADER

// Connects in the background, and again whenever the connection breaks. `url`
// is a connection string of libpq: a URL, or words such as "host=/tmp
// dbname=app"; libpq takes the rest from the environment, such as PGPASSWORD.
// With several hosts, add target_session_attrs=read-write. Does not block, but
// libpq may block the store's thread, and with it the destruction of the store,
// while it looks up the address of a host.
//
// The store has one thread and one connection, which it does not share and
// whose session has no state. PgBouncer may be between, even with
// pool_mode=transaction.
//
// kInvalidArgument for options; kFailedPrecondition if libpq is too old. All
// else is an error of the requests: kFailedPrecondition if the tables are of a
// newer version, or the server is read-only; kPermissionDenied and
// kUnauthenticated as the server says; kAborted for temporary errors.
inline absl::StatusOr<std::shared_ptr<WaitStore>> MakePostgresWaitStore(
    const std::string& url, const PostgresStoreOptions& options = {}) {
  return internal::MakePostgresWaitStore(internal::LinkedPostgres(), url,
                                         options);
}

#endif  // WAITER_HAS_LIBPQ_HEADER

}  // namespace waiter

#endif  // WAITER_DURABLE_POSTGRES_STORE_H_
