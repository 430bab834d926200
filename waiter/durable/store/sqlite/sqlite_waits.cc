// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/sqlite/sqlite_waits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/key_cursor.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/sqlite/sqlite_claims.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

// Microseconds.
constexpr int64_t kHeartbeatAge = 10'000'000;
constexpr int64_t kOverdue = 2'000'000;

constexpr size_t kScanned = 250;
// Rows of the inbox that one transaction moves.
constexpr const char* kInboxRows =
    "SELECT i.id, i.space, i.name, CAST(i.key AS BLOB), CAST(i.args AS BLOB), "
    "i.timeout_us, i.first_delay_us, i.signal, i.wall_us, n.partitions "
    "FROM waiter_inbox i JOIN waiter_names n "
    "ON n.space = i.space AND n.name = i.name ORDER BY i.id LIMIT 1000";

// The waits behind a bound that are due: those due at the same time as the
// bound, and those due later. SQLite does not search an index for a comparison
// of (due_us, id), and very many waits may be due at one time.
constexpr std::string_view kClaimable =
    "SELECT w.key, w.record, w.due_us, w.crashes, w.marks, w.cancelled, "
    "w.notified, w.id, d.args FROM waiter_waits w INDEXED BY waiter_due "
    "LEFT JOIN waiter_data d ON d.id = w.id WHERE w.partition = ? ";
const char* TiedClaimable() {
  static const auto* const sql = new std::string(
      absl::StrCat(ToAbsl(kClaimable),
                   "AND w.due_us = ? AND w.id > ? ORDER BY w.id LIMIT ?"));
  return sql->c_str();
}
const char* LaterClaimable() {
  static const auto* const sql = new std::string(absl::StrCat(
      ToAbsl(kClaimable),
      "AND w.due_us > ? AND w.due_us <= ? ORDER BY w.due_us, w.id LIMIT ?"));
  return sql->c_str();
}

// Adds the rows to the reply. `last` becomes the place of the last one.
void ReadClaimed(SqliteRows rows, ClaimReply& reply, WaitPlace& last) {
  while (rows.Next()) {
    last = {.due_us = rows.Number(2), .id = rows.Number(7)};
    reply.waits.push_back({.key = rows.Bytes(0),
                           .record = rows.Bytes(1),
                           .args = rows.Bytes(8),
                           .crashes = rows.Number(3) + rows.Number(2) % 2,
                           .marks = rows.Number(4),
                           .is_cancelled = rows.Number(5) != 0,
                           .is_notified = rows.Number(6) != 0});
  }
}

// The first of the waits behind a bound.
constexpr const char* kFirstDue =
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM waiter_waits INDEXED BY waiter_due "
    "WHERE partition = ?1 AND due_us = ?2 AND id > ?3) THEN ?2 ELSE "
    "(SELECT min(due_us) FROM waiter_waits INDEXED BY waiter_due "
    "WHERE partition = ?1 AND due_us > ?2) END";

// Time since the start of the machine, also while it slept.
int64_t BootMicros() {
#if defined(CLOCK_BOOTTIME) && !defined(WAITER_PORTABLE_CALLS)
  constexpr clockid_t kClock = CLOCK_BOOTTIME;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec time = {};
  clock_gettime(kClock, &time);
  return int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

std::string NameOf(const WaitPartition& partition) {
  return absl::StrCat(partition.space, "/", partition.name, "/",
                      partition.index);
}

bool IsDelivery(SettleAction action) {
  return action == SettleAction::kDelivered ||
         action == SettleAction::kEndUnheard;
}
bool IsEnd(SettleAction action) {
  return action == SettleAction::kEnd || action == SettleAction::kEndUnheard;
}

// NULL keeps the existing record.
std::optional<SqliteBlob> NewRecord(const std::string& record) {
  if (record.empty()) return std::nullopt;
  return SqliteBlob{record};
}

}  // namespace

SqliteWaits::SqliteWaits(std::unique_ptr<SqliteConnection> file)
    : file_(std::move(file)), log_copier_(*file_), claims_(*file_), clock_(0) {}

absl::Status SqliteWaits::Begin(bool writes) {
  if (absl::Status status = file_->Begin(writes); !status.ok()) return status;
  if (HasInbox()) {
    if (!writes) {
      file_->Rollback();
      if (absl::Status status = file_->Begin(true); !status.ok()) return status;
    }
    ReadTime(true);
    EmptyInbox();
  } else {
    ReadTime(writes);
  }
  absl::Status status = file_->status();
  if (!status.ok()) Commit().IgnoreError();
  return status;
}

absl::Status SqliteWaits::Commit() {
  absl::Status status = file_->Commit();
  // Some partitions may not be in the file.
  if (!status.ok()) partitions_.clear();
  log_copier_.OnCommit(status);
  return status;
}

void SqliteWaits::ReadTime(bool writes) {
  wall_us_ = absl::ToUnixMicros(absl::Now());
  const std::optional<int64_t> offset_us =
      file_->Number("SELECT offset_us FROM waiter_schema");
  if (!offset_us.has_value()) return;
  clock_ = SqliteClock(*offset_us);
  now_us_ = clock_.Now(wall_us_, BootMicros());
  if (writes && clock_.offset_us() != *offset_us) {
    file_->Run("UPDATE waiter_schema SET offset_us = ?", clock_.offset_us());
  }
}

bool SqliteWaits::HasInbox() {
  return file_
      ->Query(
          "SELECT 1 FROM waiter_inbox i JOIN waiter_names n "
          "ON n.space = i.space AND n.name = i.name LIMIT 1")
      .Next();
}

void SqliteWaits::EmptyInbox() {
  int64_t last = 0;
  {
    SqliteRows rows = file_->Query(kInboxRows);
    while (rows.Next()) {
      last = rows.Number(0);
      TakeFromInbox(rows);
    }
  }
  file_->Run(
      "DELETE FROM waiter_inbox WHERE id <= ? AND EXISTS (SELECT 1 FROM "
      "waiter_names n WHERE n.space = waiter_inbox.space AND n.name = "
      "waiter_inbox.name)",
      last);
}

void SqliteWaits::TakeFromInbox(SqliteRows& row) {
  const std::string key = row.Bytes(3);
  const std::string args = row.Bytes(4);
  const PartitionId partition = FindOrAdd(
      {.space = row.Bytes(1),
       .name = row.Bytes(2),
       .index = PartitionOf(key, std::max<int64_t>(1, row.Number(9)))});
  if (!row.IsNull(7)) {
    SignalOne(
        partition, key,
        row.Bytes(7) == "cancel" ? WaitSignal::kCancel : WaitSignal::kNotify);
    return;
  }
  DurableRecord record;
  record.timeout_us = row.OptionalNumber(5);
  const std::string rest = record.EncodeRest();
  const int64_t age = std::max<int64_t>(0, wall_us_ - row.Number(8));
  if (Add(partition, claims_.BoundForWrites(partition, now_us_),
          {.key = key,
           .born_us = now_us_ - age,
           .delay_us = row.Number(6),
           .record = rest,
           .args = args})) {
    AddToCounter(partition, "enqueued", 1);
    file_->Run(
        "UPDATE waiter_partitions SET pending = pending + 1 WHERE id = ?",
        partition);
  }
}

SqliteWaits::PartitionId SqliteWaits::Find(const WaitPartition& partition) {
  PartitionId& id = partitions_[NameOf(partition)];
  if (id != 0) return id;
  const std::optional<int64_t> found = file_->Number(
      "SELECT id FROM waiter_partitions "
      "WHERE space = ? AND name = ? AND number = ?",
      partition.space, partition.name, partition.index);
  return id = found.value_or(0);
}

SqliteWaits::PartitionId SqliteWaits::FindOrAdd(
    const WaitPartition& partition) {
  if (const PartitionId found = Find(partition); found != 0) return found;
  file_->Run(
      "INSERT INTO waiter_partitions(space, name, number) VALUES (?, ?, ?)",
      partition.space, partition.name, partition.index);
  return partitions_[NameOf(partition)] = file_->last_insert_rowid();
}

int64_t SqliteWaits::NextFence(PartitionId partition, int64_t lease_us,
                               int64_t polls) {
  const std::optional<int64_t> last = file_->Number(
      "SELECT fence FROM waiter_partitions WHERE id = ?", partition);
  const int64_t fence =
      last.has_value()
          ? DueNumber::Even(std::max(now_us_ + lease_us, *last + 1)) + 1
          : 0;
  file_->Run(
      "UPDATE waiter_partitions SET fence = ?, polls = polls + ? WHERE id = ?",
      fence, polls, partition);
  return fence;
}

std::optional<int64_t> SqliteWaits::FirstDue(PartitionId partition) {
  const WaitPlace bound = claims_.Bound(partition);
  const std::optional<int64_t> first =
      file_->Number(kFirstDue, partition, bound.due_us, bound.id);
  const std::optional<int64_t> fence = file_->Number(
      "SELECT min(fence) FROM waiter_claims WHERE partition = ?", partition);
  if (!fence.has_value()) return first;
  return std::min(first.value_or(*fence), *fence);
}

void SqliteWaits::AddToCounter(PartitionId partition, std::string_view counter,
                               int64_t count) {
  file_->Run(
      "INSERT INTO waiter_counters(partition, counter, count) VALUES (?, ?, ?) "
      "ON CONFLICT(partition, counter) DO UPDATE SET count = count + "
      "excluded.count",
      partition, counter, count);
}

absl::StatusOr<ClaimReply> SqliteWaits::Claim(const ClaimRequest& request) {
  const PartitionId partition = Find(request.partition);
  const WaitPlace bound = claims_.BoundForWrites(partition, now_us_);
  claims_.EndOld(partition, bound, now_us_);
  ClaimReply reply = {.now_us = now_us_};
  WaitPlace last;
  // Otherwise nothing behind the bound is due.
  if (bound.due_us <= now_us_) {
    ReadClaimed(file_->Query(TiedClaimable(), partition, bound.due_us, bound.id,
                             request.most),
                reply, last);
    const int64_t left =
        request.most - static_cast<int64_t>(reply.waits.size());
    ReadClaimed(
        file_->Query(LaterClaimable(), partition, bound.due_us, now_us_, left),
        reply, last);
  }
  const auto count = static_cast<int64_t>(reply.waits.size());
  if (count > 0) {
    reply.fence = NextFence(partition, request.lease_us, 0);
    file_->Run(
        "UPDATE waiter_waits INDEXED BY waiter_notified SET notified = 2 "
        "WHERE partition = ? AND notified = 1 AND (due_us, id) > (?, ?) "
        "AND (due_us, id) <= (?, ?)",
        partition, bound.due_us, bound.id, last.due_us, last.id);
    claims_.Add(partition, reply.fence, {.from = bound, .to = last}, count);
  }
  if (count < request.most) reply.next_us = FirstDue(partition);
  return Finish(std::move(reply));
}

absl::StatusOr<SettleReply> SqliteWaits::Settle(const SettleRequest& request) {
  const PartitionId partition = FindOrAdd(request.partition);
  const WaitPlace bound = claims_.BoundForWrites(partition, now_us_);
  SettleReply reply = {
      .now_us = now_us_,
      .fence = NextFence(partition, request.lease_us, request.polls)};
  std::map<int64_t, WaitRange> ranges;
  std::map<int64_t, int64_t> settled;
  std::set<std::string> held;
  for (const SettleItem& item : request.items) {
    auto range = ranges.find(item.fence);
    if (range == ranges.end()) {
      range = ranges
                  .emplace(item.fence,
                           claims_.HeldUnder(partition, item.fence, bound))
                  .first;
    }
    const int64_t id = FindHeld(partition, item.key, range->second);
    if (id == 0) {
      reply.lost.push_back(item.key);
      continue;
    }
    SettleOne(partition, id, item, request, reply.fence, bound);
    ++settled[item.fence];
    if (item.action == SettleAction::kHold) held.insert(item.key);
  }
  for (const auto& [fence, count] : settled) {
    claims_.Leave(partition, fence, count);
  }
  reply.cancelled = Cancelled(partition, held);
  ForgetOld(partition, 2 * static_cast<int64_t>(request.items.size()));
  return Finish(std::move(reply));
}

int64_t SqliteWaits::FindHeld(PartitionId partition, std::string_view key,
                              const WaitRange& held) {
  const std::optional<int64_t> id = file_->Number(
      "SELECT id FROM waiter_waits INDEXED BY waiter_key "
      "WHERE partition = ? AND key = ? "
      "AND (due_us, id) > (?, ?) AND (due_us, id) <= (?, ?)",
      partition, SqliteBlob{key}, held.from.due_us, held.from.id,
      held.to.due_us, held.to.id);
  return id.value_or(0);
}

void SqliteWaits::SettleOne(PartitionId partition, int64_t id,
                            const SettleItem& item,
                            const SettleRequest& request, int64_t fence,
                            const WaitPlace& bound) {
  const std::optional<SqliteBlob> record = NewRecord(item.record);
  if (IsDelivery(item.action)) {
    Deliver(partition, id, item, request);
  } else if (item.action == SettleAction::kRelease) {
    file_->Run(
        "UPDATE waiter_waits SET due_us = CASE WHEN cancelled OR notified = 1 "
        "THEN ? ELSE ? END, record = coalesce(?, record), crashes = 0, "
        "notified = 2 * (notified = 1) WHERE id = ?",
        FreeDue(bound, now_us_),
        FreeDue(bound,
                DueNumber::Even(now_us_) + DueNumber::FreeDelay(item.delay_us)),
        record, id);
  } else {
    file_->Run(
        "UPDATE waiter_waits SET due_us = ?, record = coalesce(?, record), "
        "crashes = 0 WHERE id = ?",
        fence, record, id);
  }
  if (!IsEnd(item.action)) return;
  AddToCounter(partition, item.reason, 1);
  const bool keeps = request.retain_us > 0 || item.action == SettleAction::kEnd;
  if (keeps && !item.value.empty()) {
    file_->Run(
        "INSERT INTO waiter_data(id, value) VALUES (?, ?) "
        "ON CONFLICT(id) DO UPDATE SET value = excluded.value",
        id, SqliteBlob{item.value});
  }
}

void SqliteWaits::Deliver(PartitionId partition, int64_t id,
                          const SettleItem& item,
                          const SettleRequest& request) {
  if (request.retain_us > 0) {
    file_->Run(
        "UPDATE waiter_waits SET due_us = NULL, forget = ?, "
        "record = coalesce(?, record), crashes = 0, marks = 0, cancelled = 0, "
        "notified = 0 WHERE id = ?",
        now_us_ + request.retain_us, NewRecord(item.record), id);
    file_->Run(
        "UPDATE waiter_partitions SET pending = pending - 1, kept = kept + 1 "
        "WHERE id = ?",
        partition);
    return;
  }
  file_->Run("DELETE FROM waiter_data WHERE id = ?", id);
  file_->Run("DELETE FROM waiter_waits WHERE id = ?", id);
  file_->Run("UPDATE waiter_partitions SET pending = pending - 1 WHERE id = ?",
             partition);
}

// Returns the ones of `held` that are to be cancelled.
std::vector<std::string> SqliteWaits::Cancelled(
    PartitionId partition, const std::set<std::string>& held) {
  std::vector<std::string> cancelled;
  if (held.empty()) return cancelled;
  SqliteRows rows = file_->Query(
      "SELECT key FROM waiter_waits INDEXED BY waiter_cancelled "
      "WHERE partition = ? AND cancelled <> 0",
      partition);
  while (rows.Next()) {
    std::string key = rows.Bytes(0);
    if (held.contains(key)) cancelled.push_back(std::move(key));
  }
  return cancelled;
}

void SqliteWaits::ForgetOld(PartitionId partition, int64_t most) {
  std::vector<int64_t> ids;
  {
    SqliteRows rows = file_->Query(
        "SELECT id FROM waiter_waits INDEXED BY waiter_forget "
        "WHERE partition = ? AND forget <= ? ORDER BY forget LIMIT ?",
        partition, now_us_, most);
    while (rows.Next()) ids.push_back(rows.Number(0));
  }
  if (ids.empty()) return;
  for (const int64_t id : ids) {
    file_->Run("DELETE FROM waiter_data WHERE id = ?", id);
    file_->Run("DELETE FROM waiter_waits WHERE id = ?", id);
  }
  file_->Run("UPDATE waiter_partitions SET kept = kept - ? WHERE id = ?",
             static_cast<int64_t>(ids.size()), partition);
}

absl::StatusOr<EnqueueReply> SqliteWaits::Enqueue(
    const EnqueueRequest& request) {
  const PartitionId partition = FindOrAdd(request.partition);
  const std::optional<int64_t> known = file_->Number(
      "SELECT pending FROM waiter_partitions WHERE id = ?", partition);
  const int64_t pending = known.value_or(0);
  const auto size = static_cast<int64_t>(request.items.size());
  if (pending + size > request.most_pending) {
    const int64_t created = CountNew(partition, request.items);
    if (created > 0 && pending + created > request.most_pending) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "more than ", request.most_pending, " waits are pending"));
    }
  }
  const WaitPlace bound = claims_.BoundForWrites(partition, now_us_);
  EnqueueReply reply = {.now_us = now_us_};
  int64_t created = 0;
  for (const EnqueueItem& item : request.items) {
    const bool is_new = Add(partition, bound,
                            {.key = item.key,
                             .born_us = now_us_ - item.age_us,
                             .delay_us = item.age_us + item.delay_us,
                             .record = item.record,
                             .args = item.args});
    reply.created.push_back(is_new);
    if (is_new) ++created;
  }
  if (created > 0) {
    AddToCounter(partition, "enqueued", created);
    file_->Run(
        "UPDATE waiter_partitions SET pending = pending + ? WHERE id = ?",
        created, partition);
  }
  return Finish(std::move(reply));
}

bool SqliteWaits::Add(PartitionId partition, const WaitPlace& bound,
                      const NewWait& wait) {
  if (!Insert(partition, bound, wait) &&
      !(Forget(partition, wait.key, now_us_) &&
        Insert(partition, bound, wait))) {
    return false;
  }
  if (!wait.args.empty()) {
    file_->Run("INSERT OR REPLACE INTO waiter_data(id, args) VALUES (?, ?)",
               file_->last_insert_rowid(), SqliteBlob{wait.args});
  }
  return true;
}

// Returns false if there is a wait with the key.
bool SqliteWaits::Insert(PartitionId partition, const WaitPlace& bound,
                         const NewWait& wait) {
  const std::string record =
      absl::StrCat("0", wait.born_us, " ", ToAbsl(wait.record));
  return file_->Run(
             "INSERT INTO waiter_waits(partition, key, due_us, record) "
             "VALUES (?, ?, ?, ?) ON CONFLICT(partition, key) DO NOTHING",
             partition, SqliteBlob{wait.key},
             FreeDue(bound, wait.born_us + wait.delay_us),
             SqliteBlob{record}) == 1;
}

// Deletes the result with the key if it may be forgotten by `time`. Returns
// whether it did.
bool SqliteWaits::Forget(PartitionId partition, std::string_view key,
                         int64_t time) {
  const std::optional<int64_t> id = file_->Number(
      "SELECT id FROM waiter_waits INDEXED BY waiter_key "
      "WHERE partition = ? AND key = ? AND forget <= ?",
      partition, SqliteBlob{key}, time);
  if (!id.has_value()) return false;
  file_->Run("DELETE FROM waiter_data WHERE id = ?", *id);
  file_->Run("DELETE FROM waiter_waits WHERE id = ?", *id);
  file_->Run("UPDATE waiter_partitions SET kept = kept - 1 WHERE id = ?",
             partition);
  return true;
}

// Returns how many of the items would be new.
int64_t SqliteWaits::CountNew(PartitionId partition,
                              const std::vector<EnqueueItem>& items) {
  std::set<std::string_view> keys;
  for (const EnqueueItem& item : items) {
    SqliteRows rows = file_->Query(
        "SELECT 1 FROM waiter_waits INDEXED BY waiter_key WHERE partition = ? "
        "AND key = ? AND (forget IS NULL OR forget > ?)",
        partition, SqliteBlob{item.key}, now_us_);
    if (!rows.Next()) keys.insert(item.key);
  }
  return static_cast<int64_t>(keys.size());
}

absl::StatusOr<std::vector<StoredWait>> SqliteWaits::Signal(
    const SignalRequest& request) {
  const PartitionId id = Find(request.partition);
  for (const std::string& key : request.keys) {
    SignalOne(id, key, request.signal);
  }
  return Get(request.partition, request.keys);
}

void SqliteWaits::SignalOne(PartitionId partition, std::string_view key,
                            WaitSignal signal) {
  if (signal == WaitSignal::kForget) {
    Forget(partition, key, std::numeric_limits<int64_t>::max());
    return;
  }
  const bool cancels = signal == WaitSignal::kCancel;
  const WaitPlace bound = claims_.BoundForWrites(partition, now_us_);
  file_->Run(
      "UPDATE waiter_waits INDEXED BY waiter_key SET "
      "cancelled = cancelled OR ?1, notified = CASE WHEN ?1 THEN notified "
      "WHEN due_us % 2 OR (due_us, id) <= (?2, ?3) THEN 1 ELSE 2 END, "
      "due_us = CASE WHEN due_us % 2 OR (due_us, id) <= (?2, ?3) THEN due_us "
      "ELSE min(due_us, ?4) END "
      "WHERE partition = ?5 AND key = ?6 AND due_us IS NOT NULL "
      "AND substr(record, 1, 1) = x'30'",
      int64_t{cancels ? 1 : 0}, bound.due_us, bound.id, FreeDue(bound, now_us_),
      partition, SqliteBlob{key});
}

StoredWait SqliteWaits::Row(PartitionId partition, const std::string& key) {
  StoredWait wait = {.key = key};
  SqliteRows rows = file_->Query(
      "SELECT w.record, coalesce((SELECT c.fence FROM waiter_claims c "
      "WHERE c.partition = w.partition "
      "AND (w.due_us, w.id) > (c.from_due, c.from_id) "
      "AND (w.due_us, w.id) <= (c.to_due, c.to_id)), w.due_us), "
      "w.cancelled, d.args, d.value "
      "FROM waiter_waits w INDEXED BY waiter_key "
      "LEFT JOIN waiter_data d ON d.id = w.id "
      "WHERE w.partition = ? AND w.key = ?",
      partition, SqliteBlob{key});
  if (!rows.Next()) return wait;
  wait.record = rows.Bytes(0);
  wait.due_us = rows.OptionalNumber(1);
  wait.is_cancelled = rows.Number(2) != 0;
  wait.args = rows.Bytes(3);
  wait.value = rows.Bytes(4);
  return wait;
}

absl::StatusOr<std::vector<StoredWait>> SqliteWaits::Get(
    const WaitPartition& partition, const std::vector<std::string>& keys) {
  const PartitionId id = Find(partition);
  std::vector<StoredWait> waits;
  waits.reserve(keys.size());
  for (const std::string& key : keys) waits.push_back(Row(id, key));
  return Finish(std::move(waits));
}

absl::StatusOr<WaitStore::ScanReply> SqliteWaits::Scan(
    const WaitPartition& partition, const std::string& cursor) {
  const std::optional<std::string> last = KeyOfCursor(cursor);
  if (!last.has_value()) {
    return absl::InvalidArgumentError("the cursor did not come from a scan");
  }
  const PartitionId id = Find(partition);
  std::vector<std::string> keys;
  {
    SqliteRows rows = file_->Query(
        "SELECT key FROM waiter_waits INDEXED BY waiter_key "
        "WHERE partition = ? AND key > ? ORDER BY key LIMIT ?",
        id, SqliteBlob{*last}, static_cast<int64_t>(kScanned));
    while (rows.Next()) keys.push_back(rows.Bytes(0));
  }
  WaitStore::ScanReply reply = {.cursor = "0"};
  for (const std::string& key : keys) reply.waits.push_back(Row(id, key));
  if (keys.size() == kScanned) {
    reply.cursor = CursorAfter(keys.back());
  }
  return Finish(std::move(reply));
}

absl::StatusOr<WaitStats> SqliteWaits::Stats(const WaitPartition& partition) {
  const PartitionId id = Find(partition);
  WaitStats stats = {.now_us = now_us_};
  if (SqliteRows rows = file_->Query(
          "SELECT pending, kept, polls FROM waiter_partitions WHERE id = ?",
          id);
      rows.Next()) {
    stats.pending = rows.Number(0);
    stats.kept = rows.Number(1);
    stats.polls = rows.Number(2);
  }
  const WaitPlace bound = claims_.Bound(id);
  const std::optional<int64_t> overdue = file_->Number(
      "SELECT (SELECT COUNT(*) FROM waiter_waits INDEXED BY waiter_due "
      "WHERE partition = ?1 AND due_us <= ?2 AND (due_us, id) > (?3, ?4)) "
      "+ (SELECT coalesce(sum(held), 0) FROM waiter_claims "
      "WHERE partition = ?1 AND fence <= ?2)",
      id, now_us_ - kOverdue, bound.due_us, bound.id);
  stats.overdue = overdue.value_or(0);
  stats.next_us = FirstDue(id);
  SqliteRows rows = file_->Query(
      "SELECT counter, count FROM waiter_counters WHERE partition = ?", id);
  while (rows.Next()) {
    stats.counters.emplace_back(rows.Bytes(0), rows.Number(1));
  }
  return Finish(std::move(stats));
}

absl::StatusOr<int64_t> SqliteWaits::Mark(const WaitPartition& partition,
                                          const std::string& key, bool begins) {
  const PartitionId id = Find(partition);
  if (!begins) {
    // Under a claim, the lease before it still counts.
    const WaitPlace bound = claims_.Bound(id);
    file_->Run(
        "UPDATE waiter_waits INDEXED BY waiter_key SET marks = 0, "
        "crashes = CASE WHEN (due_us, id) <= (?, ?) THEN -(due_us % 2) "
        "ELSE 0 END WHERE partition = ? AND key = ?",
        bound.due_us, bound.id, id, SqliteBlob{key});
    return Finish<int64_t>(0);
  }
  file_->Run(
      "UPDATE waiter_waits INDEXED BY waiter_key SET marks = marks + 1 "
      "WHERE partition = ? AND key = ?",
      id, SqliteBlob{key});
  const std::optional<int64_t> marks = file_->Number(
      "SELECT marks FROM waiter_waits INDEXED BY waiter_key "
      "WHERE partition = ? AND key = ?",
      id, SqliteBlob{key});
  return Finish(marks.value_or(1));
}

absl::StatusOr<int64_t> SqliteWaits::Open(const std::string& space,
                                          const std::string& name,
                                          int64_t partitions) {
  file_->Run(
      "INSERT INTO waiter_names(space, name, partitions) VALUES (?, ?, ?) "
      "ON CONFLICT DO NOTHING",
      space, name, partitions);
  const std::optional<int64_t> count = file_->Number(
      "SELECT partitions FROM waiter_names WHERE space = ? AND name = ?", space,
      name);
  return Finish(count.value_or(0));
}

absl::StatusOr<std::vector<std::string>> SqliteWaits::Heartbeat(
    const HeartbeatRequest& request) {
  file_->Run(
      "INSERT INTO waiter_workers(space, worker, heartbeat) VALUES (?, ?, ?) "
      "ON CONFLICT(space, worker) DO UPDATE SET heartbeat = excluded.heartbeat",
      request.space, request.worker,
      request.leaves ? now_us_ - kHeartbeatAge - 1 : now_us_);
  file_->Run("DELETE FROM waiter_workers WHERE heartbeat < ?",
             now_us_ - kHeartbeatAge);
  std::vector<std::string> workers;
  SqliteRows rows = file_->Query(
      "SELECT worker FROM waiter_workers WHERE space = ? ORDER BY heartbeat",
      request.space);
  while (rows.Next()) workers.push_back(rows.Bytes(0));
  return Finish(std::move(workers));
}

absl::StatusOr<WaitSpace> SqliteWaits::Describe(const std::string& space) {
  WaitSpace all;
  {
    SqliteRows rows = file_->Query(
        "SELECT name, partitions FROM waiter_names WHERE space = ? "
        "ORDER BY name",
        space);
    while (rows.Next()) all.names.emplace_back(rows.Bytes(0), rows.Number(1));
  }
  SqliteRows rows = file_->Query(
      "SELECT worker FROM waiter_workers WHERE space = ? AND heartbeat >= ? "
      "ORDER BY heartbeat",
      space, now_us_ - kHeartbeatAge);
  while (rows.Next()) all.workers.push_back(rows.Bytes(0));
  return Finish(std::move(all));
}

}  // namespace waiter::internal
