// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The store of durable waits that a URL or a path names:
//
//   absl::StatusOr<std::shared_ptr<waiter::WaitStore>> store =
//       waiter::cli::ConnectToWaitStore("jobs.db");

#ifndef WAITER_CLI_RUN_DURABLE_STORE_H_
#define WAITER_CLI_RUN_DURABLE_STORE_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/durable/store.h"

namespace waiter::cli {

// A text with "://" is the URL of a PostgreSQL or Redis server, to which the
// store connects in the background. Any other text is the path of an SQLite
// file, which is created if it is missing. Returns an error of `ConnectToStore`
// (shared_rate.h), `LoadPostgres` (postgres_library.h), `LoadSqlite`
// (sqlite_library.h) or the functions that make the stores. No message has the
// password.
absl::StatusOr<std::shared_ptr<WaitStore>> ConnectToWaitStore(
    std::string_view url);

// Returns OK, or an error if `name` is not valid for a wait. The error does not
// contain the name, which may be a misplaced URL.
absl::Status CheckWaitName(std::string_view name);

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_DURABLE_STORE_H_
