// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions of `SqliteWaits` for `CheckDurableWaits`.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/durable/key_cursor.h"
#include "waiter/durable/row_faults.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/sqlite/sqlite_claims.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/durable/store/sqlite/sqlite_waits.h"

namespace waiter::internal {
namespace {

constexpr int64_t kChecked = 1000;
// The file does not say how long a result was to be kept.
constexpr int64_t kDay = 86'400'000'000;
// The time of a file and the wall clock differ by more only after the wall
// clock was set back.
constexpr int64_t kMaxClockAhead = 2'000'000;

// The columns that `ReadState` reads. Other columns may precede them.
constexpr const char* kStep =
    "SELECT key, substr(record, 1, 1), due_us, forget, crashes + marks + "
    "cancelled + notified FROM waiter_waits INDEXED BY waiter_key WHERE "
    "partition = ? AND "
    "key > ? ORDER BY key LIMIT ?";
constexpr const char* kOne =
    "SELECT key, substr(record, 1, 1), due_us, forget, crashes + marks + "
    "cancelled + notified FROM waiter_waits INDEXED BY waiter_key WHERE "
    "partition = ? AND "
    "key = ?";

RowState ReadState(const SqliteRows& row) {
  const std::string phase = row.Bytes(1);
  return {.is_pending = phase != "1" && phase != "2",
          .is_over = phase == "2",
          .is_due = !row.IsNull(2),
          .is_kept = !row.IsNull(3),
          .has_leftovers = row.Number(4) != 0};
}

}  // namespace

// Cursors are like `Scan`'s.
absl::StatusOr<CheckReply> SqliteWaits::Check(const WaitPartition& partition,
                                              const std::string& cursor) {
  const PartitionId id = Find(partition);
  CheckReply reply = {.sees_records = true};
  if (SqliteRows rows = file_->Query(
          "SELECT pending, fence FROM waiter_partitions WHERE id = ?", id);
      rows.Next()) {
    reply.due = rows.Number(0);
    reply.fence = rows.Number(1);
  }
  {
    SqliteRows rows = file_->Query(
        "SELECT counter, count FROM waiter_counters WHERE partition = ?", id);
    while (rows.Next()) {
      const std::string counter = rows.Bytes(0);
      (counter == "enqueued"  ? reply.enqueued
       : counter == "orphans" ? reply.orphans
                              : reply.ended) += rows.Number(1);
    }
  }
  const std::string last = KeyOfCursor(cursor).value_or("");
  std::string key;
  SqliteRows rows = file_->Query(kStep, id, SqliteBlob{last}, kChecked);
  while (rows.Next()) {
    key = rows.Bytes(0);
    const RowState row = ReadState(rows);
    ++reply.records;
    if (row.is_pending) ++reply.pending;
    if (!FaultsOf(row).empty()) reply.keys.push_back(key);
  }
  if (reply.records == kChecked) {
    reply.cursor = CursorAfter(key);
  }
  return Finish(std::move(reply));
}

absl::StatusOr<std::vector<FaultyWait>> SqliteWaits::Examine(
    const ExamineRequest& request) {
  const PartitionId partition = Find(request.partition);
  std::vector<FaultyWait> waits;
  for (const std::string& key : request.keys) {
    for (const WaitFault fault : ExamineOne(partition, key, request.repairs)) {
      waits.push_back({.key = key, .fault = fault});
    }
  }
  if (!request.repairs) return Finish(std::move(waits));
  if (request.missing > 0) AddToCounter(partition, "orphans", request.missing);
  if (request.missing < 0) {
    AddToCounter(partition, "enqueued", -request.missing);
  }
  file_->Run(
      "UPDATE waiter_partitions SET "
      "pending = (SELECT COUNT(*) FROM waiter_waits INDEXED BY waiter_due "
      "WHERE partition = ?1 AND due_us IS NOT NULL), "
      "kept = (SELECT COUNT(*) FROM waiter_waits INDEXED BY waiter_forget "
      "WHERE partition = ?1 AND forget IS NOT NULL) WHERE id = ?1",
      partition);
  return Finish(std::move(waits));
}

std::vector<WaitFault> SqliteWaits::ExamineOne(PartitionId partition,
                                               const std::string& key,
                                               bool repairs) {
  RowState row;
  {
    SqliteRows rows = file_->Query(kOne, partition, SqliteBlob{key});
    if (!rows.Next()) return {};
    row = ReadState(rows);
  }
  std::vector<WaitFault> faults = FaultsOf(row);
  if (!repairs || faults.empty()) return faults;
  if (row.is_over) {
    file_->Run(
        "UPDATE waiter_waits INDEXED BY waiter_key SET due_us = NULL, forget = "
        "coalesce(forget, ?), crashes = 0, marks = 0, cancelled = 0, "
        "notified = 0 "
        "WHERE partition = ? AND key = ?",
        now_us_ + kDay, partition, SqliteBlob{key});
  } else {
    file_->Run(
        "UPDATE waiter_waits INDEXED BY waiter_key SET due_us = "
        "coalesce(due_us, ?), forget = NULL WHERE partition = ? AND key = ?",
        FreeDue(claims_.BoundForWrites(partition, now_us_), now_us_), partition,
        SqliteBlob{key});
  }
  return faults;
}

absl::StatusOr<WaitServer> SqliteWaits::Inspect(
    const WaitPartition& /*partition*/) {
  WaitServer server = {
      .id = file_->path(),
      .description = absl::StrCat("SQLite ", file_->library().libversion(),
                                  ", ", file_->path())};
  if (SqliteRows rows = file_->Query("PRAGMA synchronous"); rows.Next()) {
    absl::StrAppend(&server.description,
                    ", synchronous=", rows.Number(0) >= 2 ? "FULL" : "NORMAL");
  }
  if (now_us_ - wall_us_ > kMaxClockAhead) {
    absl::StrAppend(
        &server.description, ", its time is ",
        absl::FormatDuration(absl::Microseconds(now_us_ - wall_us_)),
        " ahead of the clock, which was set back");
  }
  return Finish(std::move(server));
}

}  // namespace waiter::internal
