// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/sqlite/sqlite_schema.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"

namespace waiter::internal {
namespace {

constexpr int64_t kVersion = 2;

// All times are in microseconds, of the time of the file. Waits, partitions and
// rows are identified by numbers.
constexpr const char* kTables = R"sql(
CREATE TABLE waiter_schema(
  version INTEGER NOT NULL,
  offset_us INTEGER NOT NULL DEFAULT -4611686018427387904
);
INSERT INTO waiter_schema(version) VALUES (2);
CREATE TABLE waiter_names(
  space TEXT NOT NULL,
  name TEXT NOT NULL,
  partitions INTEGER NOT NULL,
  PRIMARY KEY (space, name)
) WITHOUT ROWID;
CREATE TABLE waiter_partitions(
  id INTEGER PRIMARY KEY,
  space TEXT NOT NULL,
  name TEXT NOT NULL,
  number INTEGER NOT NULL,
  fence INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  kept INTEGER NOT NULL DEFAULT 0,
  polls INTEGER NOT NULL DEFAULT 0,
  bound_due INTEGER NOT NULL DEFAULT 0,
  bound_id INTEGER NOT NULL DEFAULT 0,
  UNIQUE (space, name, number)
);
CREATE TABLE waiter_counters(
  partition INTEGER NOT NULL,
  counter TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (partition, counter)
) WITHOUT ROWID;
CREATE TABLE waiter_waits(
  id INTEGER PRIMARY KEY,
  partition INTEGER NOT NULL,
  key BLOB NOT NULL,
  due_us INTEGER,
  forget INTEGER,
  crashes INTEGER NOT NULL DEFAULT 0,
  marks INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  notified INTEGER NOT NULL DEFAULT 0,
  record BLOB NOT NULL
);
CREATE UNIQUE INDEX waiter_key ON waiter_waits(partition, key);
CREATE INDEX waiter_due ON waiter_waits(partition, due_us)
  WHERE due_us IS NOT NULL;
CREATE INDEX waiter_forget ON waiter_waits(partition, forget)
  WHERE forget IS NOT NULL;
CREATE INDEX waiter_cancelled ON waiter_waits(partition) WHERE cancelled <> 0;
CREATE TABLE waiter_data(
  id INTEGER PRIMARY KEY,
  args BLOB NOT NULL DEFAULT x'',
  value BLOB NOT NULL DEFAULT x''
);
CREATE TABLE waiter_workers(
  space TEXT NOT NULL,
  worker TEXT NOT NULL,
  heartbeat INTEGER NOT NULL,
  PRIMARY KEY (space, worker)
) WITHOUT ROWID;
CREATE TABLE waiter_inbox(
  id INTEGER PRIMARY KEY,
  space TEXT NOT NULL DEFAULT 'default' CHECK (length(space) BETWEEN 1 AND 64),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  key BLOB NOT NULL CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 128),
  args BLOB NOT NULL DEFAULT x'' CHECK (length(CAST(args AS BLOB)) <= 16384),
  timeout_us INTEGER CHECK (timeout_us BETWEEN 0 AND 3153600000000000),
  first_delay_us INTEGER NOT NULL DEFAULT 0
    CHECK (first_delay_us BETWEEN 0 AND 3153600000000000),
  signal TEXT CHECK (signal IN ('cancel', 'notify')),
  wall_us INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER))
);
)sql";

// Version 2 adds these to version 1.
constexpr const char* kClaims = R"sql(
CREATE INDEX waiter_notified ON waiter_waits(partition) WHERE notified = 1;
CREATE TABLE waiter_claims(
  partition INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  from_due INTEGER NOT NULL,
  from_id INTEGER NOT NULL,
  to_due INTEGER NOT NULL,
  to_id INTEGER NOT NULL,
  held INTEGER NOT NULL,
  PRIMARY KEY (partition, fence)
) WITHOUT ROWID;
)sql";

// In version 2, a claim is one row. Programs of version 1 that have the file
// open would not see it, so a column has another name, at which their
// statements fail.
constexpr const char* kUpgrade = R"sql(
ALTER TABLE waiter_waits RENAME COLUMN due TO due_us;
UPDATE waiter_waits SET notified = 2 WHERE notified = 1 AND due_us % 2 = 0;
ALTER TABLE waiter_partitions ADD COLUMN bound_due INTEGER NOT NULL DEFAULT 0;
ALTER TABLE waiter_partitions ADD COLUMN bound_id INTEGER NOT NULL DEFAULT 0;
UPDATE waiter_schema SET version = 2;
)sql";

// "Wait", for the program `file`.
constexpr const char* kOwnFile = "PRAGMA application_id = 0x57616974";

// The log has room for what is written while `SqliteLogCopier` copies it.
constexpr const char* kSettings = R"sql(
PRAGMA journal_size_limit = 268435456;
PRAGMA cache_size = -65536;
PRAGMA temp_store = MEMORY;
)sql";

absl::Status CreateTables(SqliteConnection& file,
                          const SqliteStoreOptions& options) {
  const bool is_empty = file.Number("SELECT COUNT(*) FROM sqlite_master") == 0;
  if (!file.status().ok()) return file.status();
  if (!is_empty && !options.shares_file) {
    return absl::FailedPreconditionError(absl::StrCat(
        file.path(),
        " has tables of another program; name another file, or set shares_file "
        "to let the store add its own"));
  }
  if (is_empty) file.RunScript(kOwnFile);
  file.RunScript(kTables);
  file.RunScript(kClaims);
  return file.status();
}

// In a transaction for writing.
absl::Status CheckVersion(SqliteConnection& file,
                          const SqliteStoreOptions& options) {
  const bool exists = file.Number(
                          "SELECT COUNT(*) FROM sqlite_master WHERE type = "
                          "'table' AND name = 'waiter_schema'") == 1;
  if (!file.status().ok()) return file.status();
  if (!exists) return CreateTables(file, options);
  const std::optional<int64_t> version =
      file.Number("SELECT version FROM waiter_schema");
  if (!file.status().ok()) return file.status();
  if (version == 1) {
    file.RunScript(kUpgrade);
    file.RunScript(kClaims);
    return file.status();
  }
  if (version == kVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      file.path(), " has version ", version.value_or(0),
      " of the tables of durable waits; this program knows version ", kVersion,
      ": use a newer program, or another file"));
}

// Returns the journal mode. SQLite does not wait for other processes here.
std::string TurnLogOn(SqliteConnection& file, absl::Duration busy_timeout) {
  const absl::Time end = absl::Now() + busy_timeout;
  while (true) {
    file.Rollback();
    if (SqliteRows rows = file.Query("PRAGMA journal_mode = WAL");
        rows.Next()) {
      return rows.Bytes(0);
    }
    if (!absl::IsAborted(file.status()) || absl::Now() >= end) return "";
    absl::SleepFor(absl::Milliseconds(5));
  }
}

absl::Status SetUp(SqliteConnection& file, const SqliteStoreOptions& options) {
  const std::string mode = TurnLogOn(file, options.busy_timeout);
  file.RunScript(kSettings);
  file.RunScript(options.syncs ? "PRAGMA synchronous = FULL"
                               : "PRAGMA synchronous = NORMAL");
  if (options.max_bytes > 0) {
    const int64_t page = file.Number("PRAGMA page_size").value_or(4096);
    file.RunScript(
        absl::StrCat("PRAGMA max_page_count = ", options.max_bytes / page));
  }
  if (!file.status().ok()) return file.status();
  if (mode == "wal") return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      file.path(), " cannot have a write-ahead log (its journal ", "mode is ",
      mode, "); name a file on a disk of this machine"));
}

}  // namespace

// The tables come first: they may be refused, and the setup changes the file.
absl::Status PrepareSqliteFile(SqliteConnection& file,
                               const SqliteStoreOptions& options) {
  if (absl::Status begun = file.Begin(/*writes=*/true); !begun.ok()) {
    return begun;
  }
  if (absl::Status status = CheckVersion(file, options); !status.ok()) {
    file.Rollback();
    return status;
  }
  if (absl::Status status = file.Commit(); !status.ok()) return status;
  return SetUp(file, options);
}

}  // namespace waiter::internal
