// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/sqlite_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/durable/internal/sqlite_library.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/durable/store/sqlite/sqlite_schema.h"
#include "waiter/durable/store/sqlite/sqlite_waits.h"
#include "waiter/durable/store_thread.h"
#include "waiter/text.h"

namespace waiter::internal {
namespace {

constexpr int64_t kMinBytes = int64_t{1} << 20;

absl::Status Validate(const std::string& path,
                      const SqliteStoreOptions& options) {
  if (path.empty() || path == ":memory:") {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path,
                     "\" is not the path of a file that other processes can "
                     "open"));
  }
  if (!(options.busy_timeout >= absl::ZeroDuration() &&
        options.busy_timeout <= absl::Minutes(1))) {
    return InvalidOption("busy_timeout",
                         absl::FormatDuration(options.busy_timeout),
                         "within [0, 1min]");
  }
  if (options.max_bytes != 0 && options.max_bytes < kMinBytes) {
    return InvalidOption("max_bytes", options.max_bytes,
                         "0, or at least 1048576");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<WaitStore>> MakeSqliteWaitStore(
    const SqliteLibrary& library, const std::string& path,
    const SqliteStoreOptions& options) {
  if (absl::Status status = Validate(path, options); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<SqliteConnection>> file =
      SqliteConnection::Open(library, path,
                             absl::ToChronoNanoseconds(options.busy_timeout));
  if (!file.ok()) return file.status();
  if (absl::Status status = PrepareSqliteFile(**file, options); !status.ok()) {
    return status;
  }
  return std::make_shared<StoreThread>(
      std::make_unique<SqliteWaits>(*std::move(file)));
}

}  // namespace waiter::internal
