// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Enqueues in transactions of the program.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/internal/sqlite_library.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/budget_member.h"

namespace waiter::internal {
namespace {

constexpr int kConstraint = 19;

// The connection is the program's, so its error is no `SqliteStatus`.
absl::Status LastError(const SqliteLibrary& library, sqlite3* connection) {
  const absl::string_view message = library.errmsg(connection);
  if (absl::StrContains(message, "waiter_inbox") &&
      absl::StartsWith(message, "no such table")) {
    return absl::FailedPreconditionError(
        absl::StrCat(message, "; open the file once with MakeSqliteWaitStore"));
  }
  const int code = library.extended_errcode(connection);
  if ((code & 0xFF) == kConstraint) {
    return absl::InvalidArgumentError(message);
  }
  return SqliteStatus("the file", code, ToStd(message));
}

}  // namespace

absl::Status EnqueueInSqlite(const SqliteLibrary& library, sqlite3* connection,
                             std::string_view space, std::string_view name,
                             const DurableRequest& request) {
  for (absl::Status status :
       {CheckName(space, "space"), CheckName(name), CheckKey(request.key)}) {
    if (!status.ok()) return status;
  }
  sqlite3_stmt* statement = nullptr;
  if (library.prepare_v3(connection, kSqliteEnqueue.data(),
                         static_cast<int>(kSqliteEnqueue.size()), 0, &statement,
                         nullptr) != kSqliteOk) {
    return LastError(library, connection);
  }
  const auto bind_text = [&](int index, std::string_view text) {
    library.bind_text(statement, index, text.data(),
                      static_cast<int>(text.size()), nullptr);
  };
  const auto bind_blob = [&](int index, const std::string& bytes) {
    library.bind_blob(statement, index, bytes.data(),
                      static_cast<int>(bytes.size()), nullptr);
  };
  bind_text(1, space);
  bind_text(2, name);
  bind_blob(3, request.key);
  bind_blob(4, request.args);
  if (request.timeout.has_value()) {
    library.bind_int64(statement, 5,
                       absl::ToInt64Microseconds(*request.timeout));
  }
  library.bind_int64(statement, 6,
                     absl::ToInt64Microseconds(request.first_delay));
  const int code = library.step(statement);
  absl::Status status =
      code == kSqliteDone ? absl::OkStatus() : LastError(library, connection);
  library.finalize(statement);
  return status;
}

}  // namespace waiter::internal
