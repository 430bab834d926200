// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/postgres/postgres_calls.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/durable/key_cursor.h"
#include "waiter/durable/row_faults.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/postgres/postgres_values.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

using Type = PostgresArray::Type;

constexpr size_t kScanned = 250;
constexpr int64_t kChecked = 1000;

// Bits of the column `flags`.
constexpr int64_t kIsCancelled = 1;
constexpr int64_t kIsNotified = 2;

// A transaction that stays open for longer is worth a warning.
constexpr int64_t kOldTransaction = 600'000'000;

std::string LocksOf(const WaitPartition& partition) {
  return absl::StrCat(partition.space, "/", partition.name, "/",
                      partition.index);
}

// Returns an array of the values of `get`, a function or a member, of `items`.
template <typename Item, typename Get>
PostgresArray Column(Type type, const std::vector<Item>& items,
                     const Get& get) {
  PostgresArray array(type, items.size());
  for (const Item& item : items) array.Add(std::invoke(get, item));
  return array;
}

std::string_view NameOf(WaitSignal signal) {
  switch (signal) {
    case WaitSignal::kCancel:
      return "cancel";
    case WaitSignal::kNotify:
      return "notify";
    case WaitSignal::kForget:
      break;
  }
  return "forget";
}

StoredWait ReadWait(const PostgresRows& row) {
  return {.key = row.Bytes(0),
          .record = row.Bytes(1),
          .args = row.Bytes(2),
          .value = row.Bytes(3),
          .due_us = row.OptionalNumber(4),
          .is_cancelled = (row.Number(5) & kIsCancelled) != 0};
}

absl::StatusOr<std::vector<StoredWait>> ReadWaits(PostgresRows rows) {
  std::vector<StoredWait> waits;
  while (rows.Next()) waits.push_back(ReadWait(rows));
  return waits;
}

absl::StatusOr<ClaimReply> ReadClaim(PostgresRows rows) {
  ClaimReply reply;
  while (rows.Next()) {
    if (rows.IsNull(3)) {
      reply.now_us = rows.Number(0);
      reply.fence = rows.Number(1);
      reply.next_us = rows.OptionalNumber(2);
      continue;
    }
    reply.waits.push_back({.key = rows.Bytes(3),
                           .record = rows.Bytes(4),
                           .args = rows.Bytes(5),
                           .crashes = rows.Number(6),
                           .marks = rows.Number(7),
                           .is_cancelled = (rows.Number(8) & kIsCancelled) != 0,
                           .is_notified = (rows.Number(8) & kIsNotified) != 0});
  }
  return reply;
}

absl::StatusOr<SettleReply> ReadSettle(PostgresRows rows) {
  SettleReply reply;
  while (rows.Next()) {
    if (rows.IsNull(2)) {
      reply.now_us = rows.Number(0);
      reply.fence = rows.Number(1);
    } else {
      (rows.Flag(3) ? reply.lost : reply.cancelled).push_back(rows.Bytes(2));
    }
  }
  return reply;
}

absl::StatusOr<EnqueueReply> ReadEnqueue(PostgresRows rows, int64_t most) {
  EnqueueReply reply;
  if (!rows.Next()) return reply;
  if (rows.IsNull(1)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", most, " waits are pending"));
  }
  reply.now_us = rows.Number(0);
  for (const char created : rows.Bytes(1)) {
    reply.created.push_back(created == '1');
  }
  return reply;
}

absl::StatusOr<WaitStats> ReadStats(PostgresRows rows) {
  WaitStats stats;
  while (rows.Next()) {
    if (!rows.IsNull(6)) {
      stats.counters.emplace_back(rows.Bytes(6), rows.Number(7));
      continue;
    }
    stats.now_us = rows.Number(0);
    stats.pending = rows.Number(1);
    stats.overdue = rows.Number(2);
    stats.next_us = rows.OptionalNumber(3);
    stats.kept = rows.Number(4);
    stats.polls = rows.Number(5);
  }
  return stats;
}

absl::StatusOr<int64_t> ReadNumber(PostgresRows rows) {
  return rows.Next() ? rows.Number(0) : 0;
}

// The columns of `states_of` in check.sql.
RowState ReadState(const PostgresRows& row) {
  const auto phase = static_cast<char>(row.Number(1));
  return {.has_record = row.Flag(5),
          .is_pending = phase != '1' && phase != '2',
          .is_over = phase == '2',
          .is_due = row.Flag(2),
          .is_kept = row.Flag(3),
          .has_leftovers = row.Flag(4)};
}

absl::StatusOr<CheckReply> ReadCheck(PostgresRows rows) {
  CheckReply reply = {.sees_records = true};
  int64_t seen = 0;
  std::string key;
  while (rows.Next()) {
    if (rows.IsNull(0)) {
      reply.due = rows.Number(6);
      reply.fence = rows.Number(7);
      reply.enqueued = rows.Number(8);
      reply.ended = rows.Number(9);
      reply.orphans = rows.Number(10);
      continue;
    }
    ++seen;
    key = rows.Bytes(0);
    const RowState state = ReadState(rows);
    if (state.has_record) ++reply.records;
    if (state.has_record && state.is_pending) ++reply.pending;
    if (!FaultsOf(state).empty()) reply.keys.push_back(key);
  }
  if (seen >= kChecked) reply.cursor = CursorAfter(key);
  return reply;
}

absl::StatusOr<std::vector<FaultyWait>> ReadFaults(PostgresRows rows) {
  std::vector<FaultyWait> waits;
  while (rows.Next()) {
    for (const WaitFault fault : FaultsOf(ReadState(rows))) {
      waits.push_back({.key = rows.Bytes(0), .fault = fault});
    }
  }
  return waits;
}

absl::StatusOr<std::vector<std::string>> ReadTexts(PostgresRows rows) {
  std::vector<std::string> texts;
  while (rows.Next()) texts.push_back(rows.Bytes(0));
  return texts;
}

absl::StatusOr<WaitSpace> ReadSpace(PostgresRows rows) {
  WaitSpace space;
  while (rows.Next()) {
    if (rows.IsNull(1)) {
      space.workers.push_back(rows.Bytes(0));
    } else {
      space.names.emplace_back(rows.Bytes(0), rows.Number(1));
    }
  }
  return space;
}

struct Setting {
  int column;
  const char* name;
  const char* danger;
};

constexpr std::array kSettings = {
    Setting{2, "fsync",
            "is off: a crash of the machine may damage the database; set fsync "
            "= on"},
    Setting{3, "synchronous_commit",
            "is off: a crash of the server loses the transactions of its last "
            "0.6 s; "
            "set synchronous_commit = on"},
    Setting{4, "full_page_writes",
            "is off: a crash of the machine may damage the database; set "
            "full_page_writes = on"},
    Setting{
        5, "autovacuum",
        "is off: each poll leaves two dead rows, which nothing removes; set "
        "autovacuum = on"},
};

absl::StatusOr<WaitServer> ReadServer(PostgresRows rows,
                                      const std::string& schema) {
  WaitServer server;
  if (!rows.Next()) return server;
  server.id = absl::StrCat(rows.Bytes(1), ".", schema);
  server.description = absl::StrCat("PostgreSQL ", rows.Bytes(0), ", database ",
                                    rows.Bytes(1), ", schema ", schema);
  for (const Setting& setting : kSettings) {
    const std::string value = rows.Bytes(setting.column);
    absl::StrAppend(&server.description, ", ", setting.name, "=", value);
    if (value != "off") continue;
    server.faults.push_back(absl::StrCat(setting.name, " ", setting.danger));
  }
  if (rows.Bytes(6) == "on") {
    server.faults.emplace_back(
        "the server is read-only, such as a standby: waits can be read, but "
        "not changed; connect to the primary");
  }
  if (rows.Number(7) > kOldTransaction) {
    server.faults.push_back(absl::StrCat(
        "a transaction has been open for ",
        absl::FormatDuration(absl::Seconds(rows.Number(7) / 1'000'000)),
        ": until it ends, nothing removes dead rows; find it in "
        "pg_stat_activity"));
  }
  return server;
}

}  // namespace

PostgresStatement PostgresCalls::Call(std::string_view function,
                                      int parameters) const {
  std::string sql =
      absl::StrCat("SELECT * FROM ", schema_, ".store_", ToAbsl(function), "(");
  for (int i = 1; i <= parameters; ++i) {
    absl::StrAppend(&sql, i == 1 ? "$" : ", $", i);
  }
  sql += ")";
  return PostgresStatement(std::move(sql));
}

PostgresStatement PostgresCalls::CallOn(const WaitPartition& partition,
                                        std::string_view function,
                                        int more) const {
  PostgresStatement call = Call(function, 3 + more);
  call.AddText(partition.space);
  call.AddText(partition.name);
  call.AddInteger(partition.index);
  return call;
}

PostgresRequest<ClaimReply> PostgresCalls::Claim(
    const ClaimRequest& request) const {
  PostgresStatement call = CallOn(request.partition, "claim", 2);
  call.AddNumber(request.most);
  call.AddNumber(request.lease_us);
  return {.statement = std::move(call),
          .read = ReadClaim,
          .locks = LocksOf(request.partition),
          .weight = request.most};
}

PostgresRequest<SettleReply> PostgresCalls::Settle(
    const SettleRequest& request) const {
  PostgresStatement call = CallOn(request.partition, "settle", 10);
  call.AddNumber(request.lease_us);
  call.AddNumber(request.retain_us);
  call.AddNumber(request.polls);
  const auto add = [&](Type type, const auto& get) {
    call.AddArray(Column(type, request.items, get));
  };
  add(Type::kBytes, &SettleItem::key);
  add(Type::kNumber, &SettleItem::fence);
  add(Type::kLetter, [](const SettleItem& item) {
    return std::string(1, static_cast<char>(item.action));
  });
  add(Type::kNumber, &SettleItem::delay_us);
  add(Type::kBytes, &SettleItem::record);
  add(Type::kBytes, &SettleItem::value);
  add(Type::kText, &SettleItem::reason);
  return {.statement = std::move(call),
          .read = ReadSettle,
          .locks = LocksOf(request.partition),
          .weight = static_cast<int64_t>(request.items.size())};
}

PostgresRequest<EnqueueReply> PostgresCalls::Enqueue(
    const EnqueueRequest& request) const {
  PostgresStatement call = CallOn(request.partition, "enqueue", 6);
  call.AddNumber(request.most_pending);
  const auto add = [&](Type type, const auto& get) {
    call.AddArray(Column(type, request.items, get));
  };
  add(Type::kBytes, &EnqueueItem::key);
  add(Type::kNumber, &EnqueueItem::delay_us);
  add(Type::kBytes, &EnqueueItem::record);
  add(Type::kBytes, &EnqueueItem::args);
  add(Type::kNumber, &EnqueueItem::age_us);
  return {.statement = std::move(call),
          .read =
              [most = request.most_pending](PostgresRows rows) {
                return ReadEnqueue(std::move(rows), most);
              },
          .locks = LocksOf(request.partition),
          .weight = static_cast<int64_t>(request.items.size())};
}

PostgresRequest<std::vector<StoredWait>> PostgresCalls::Signal(
    const SignalRequest& request) const {
  PostgresStatement call = CallOn(request.partition, "signal", 2);
  call.AddArray(Column(Type::kBytes, request.keys, std::identity()));
  call.AddText(NameOf(request.signal));
  return {.statement = std::move(call),
          .read = ReadWaits,
          .locks = LocksOf(request.partition)};
}

PostgresRequest<std::vector<StoredWait>> PostgresCalls::Get(
    const WaitPartition& partition,
    const std::vector<std::string>& keys) const {
  PostgresStatement call = CallOn(partition, "get", 1);
  call.AddArray(Column(Type::kBytes, keys, std::identity()));
  return {.statement = std::move(call),
          .read = ReadWaits,
          .locks = LocksOf(partition)};
}

PostgresRequest<WaitStore::ScanReply> PostgresCalls::Scan(
    const WaitPartition& partition, std::string_view last) const {
  PostgresStatement call = CallOn(partition, "scan", 2);
  call.AddBytes(last);
  call.AddNumber(kScanned);
  return {
      .statement = std::move(call),
      .read = [](PostgresRows rows) -> absl::StatusOr<WaitStore::ScanReply> {
        WaitStore::ScanReply reply = {.cursor = "0"};
        while (rows.Next()) reply.waits.push_back(ReadWait(rows));
        if (reply.waits.size() == kScanned) {
          reply.cursor = CursorAfter(reply.waits.back().key);
        }
        return reply;
      },
      .locks = LocksOf(partition)};
}

PostgresRequest<WaitStats> PostgresCalls::Stats(
    const WaitPartition& partition) const {
  return {.statement = CallOn(partition, "stats", 0),
          .read = ReadStats,
          .locks = LocksOf(partition)};
}

PostgresRequest<int64_t> PostgresCalls::Mark(const WaitPartition& partition,
                                             std::string_view key,
                                             bool begins) const {
  PostgresStatement call = CallOn(partition, "mark", 2);
  call.AddBytes(key);
  call.AddFlag(begins);
  return {.statement = std::move(call),
          .read = ReadNumber,
          .locks = LocksOf(partition)};
}

PostgresRequest<int64_t> PostgresCalls::Open(std::string_view space,
                                             std::string_view name,
                                             int64_t partitions) const {
  PostgresStatement call = Call("open", 3);
  call.AddText(space);
  call.AddText(name);
  call.AddInteger(static_cast<int32_t>(partitions));
  return {.statement = std::move(call), .read = ReadNumber};
}

PostgresRequest<std::vector<std::string>> PostgresCalls::Heartbeat(
    const HeartbeatRequest& request) const {
  PostgresStatement call = Call("heartbeat", 3);
  call.AddText(request.space);
  call.AddText(request.worker);
  call.AddFlag(request.leaves);
  return {.statement = std::move(call), .read = ReadTexts};
}

PostgresRequest<WaitSpace> PostgresCalls::Describe(
    std::string_view space) const {
  PostgresStatement call = Call("describe", 1);
  call.AddText(space);
  return {.statement = std::move(call), .read = ReadSpace};
}

PostgresRequest<CheckReply> PostgresCalls::Check(const WaitPartition& partition,
                                                 std::string_view last) const {
  PostgresStatement call = CallOn(partition, "check", 2);
  call.AddBytes(last);
  call.AddNumber(kChecked);
  return {.statement = std::move(call),
          .read = ReadCheck,
          .locks = LocksOf(partition)};
}

PostgresRequest<std::vector<FaultyWait>> PostgresCalls::Examine(
    const ExamineRequest& request) const {
  PostgresStatement call = CallOn(request.partition, "examine", 3);
  call.AddArray(Column(Type::kBytes, request.keys, std::identity()));
  call.AddFlag(request.repairs);
  call.AddNumber(request.missing);
  return {.statement = std::move(call),
          .read = ReadFaults,
          .locks = LocksOf(request.partition)};
}

PostgresRequest<WaitServer> PostgresCalls::Inspect() const {
  return {.statement = Call("inspect", 0),
          .read = [schema = schema_](PostgresRows rows) {
            return ReadServer(std::move(rows), schema);
          }};
}

}  // namespace waiter::internal
