// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/durable_store.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "cli/run/postgres_library.h"
#include "cli/run/shared_rate.h"
#include "cli/run/sqlite_library.h"
#include "waiter/durable/postgres_store.h"
#include "waiter/durable/redis_store.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store.h"
#include "waiter/redis/client.h"

namespace waiter::cli {

absl::StatusOr<std::shared_ptr<WaitStore>> ConnectToWaitStore(
    std::string_view url) {
  if (!absl::StrContains(url, "://")) {
    const absl::StatusOr<const internal::SqliteLibrary*> sqlite = LoadSqlite();
    if (!sqlite.ok()) return sqlite.status();
    return internal::MakeSqliteWaitStore(**sqlite, std::string(url),
                                         {.shares_file = false});
  }
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
    const absl::StatusOr<const internal::PostgresLibrary*> postgres =
        LoadPostgres();
    if (!postgres.ok()) return postgres.status();
    return internal::MakePostgresWaitStore(**postgres, std::string(url),
                                           PostgresStoreOptions());
  }
  const absl::StatusOr<std::shared_ptr<RedisCaller>> client =
      ConnectToStore(url, {.call_timeout = absl::Seconds(5)});
  if (!client.ok()) return client.status();
  return std::make_shared<RedisWaitStore>(*client);
}

absl::Status CheckWaitName(std::string_view name) {
  const bool is_name =
      !name.empty() && name.size() <= 64 &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
      });
  return is_name ? absl::OkStatus()
                 : absl::InvalidArgumentError(
                       "NAME must be 1 to 64 of the characters A-Z, a-z, 0-9, "
                       "_, . and -; it comes after the flags");
}

}  // namespace waiter::cli
