// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/sqlite/sqlite_claims.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "waiter/durable/due_number.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"

namespace waiter::internal {
namespace {

// Microseconds. New waits may be late by as much.
constexpr int64_t kMaxAhead = 1'000'000;

constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

// Reads four columns, from `first`.
WaitRange ReadRange(const SqliteRows& row, int first) {
  return {.from = {.due_us = row.Number(first), .id = row.Number(first + 1)},
          .to = {.due_us = row.Number(first + 2), .id = row.Number(first + 3)}};
}

}  // namespace

int64_t FreeDue(const WaitPlace& bound, int64_t time) {
  return std::max(DueNumber::Even(time), DueNumber::Even(bound.due_us) + 2);
}

WaitPlace SqliteClaims::Bound(int64_t partition) {
  SqliteRows rows = file_.Query(
      "SELECT bound_due, bound_id FROM waiter_partitions WHERE id = ?",
      partition);
  if (!rows.Next()) return {};
  return {.due_us = rows.Number(0), .id = rows.Number(1)};
}

WaitPlace SqliteClaims::BoundForWrites(int64_t partition, int64_t now_us) {
  const WaitPlace bound = Bound(partition);
  if (bound.due_us <= now_us + kMaxAhead) return bound;
  for (const auto& [fence, range] : Take(partition, kLast)) {
    Move(partition, range, fence, 0);
  }
  file_.Run(
      "UPDATE waiter_partitions SET bound_due = 0, bound_id = 0 WHERE id = ?",
      partition);
  return {};
}

void SqliteClaims::EndOld(int64_t partition, const WaitPlace& bound,
                          int64_t now_us) {
  for (const auto& [fence, range] : Take(partition, now_us)) {
    Move(partition, range, FreeDue(bound, 0), 1);
  }
}

void SqliteClaims::Add(int64_t partition, int64_t fence, const WaitRange& range,
                       int64_t count) {
  file_.Run("INSERT INTO waiter_claims VALUES (?, ?, ?, ?, ?, ?, ?)", partition,
            fence, range.from.due_us, range.from.id, range.to.due_us,
            range.to.id, count);
  file_.Run(
      "UPDATE waiter_partitions SET bound_due = ?, bound_id = ? WHERE id = ?",
      range.to.due_us, range.to.id, partition);
}

void SqliteClaims::Leave(int64_t partition, int64_t fence, int64_t count) {
  if (file_.Run("UPDATE waiter_claims SET held = held - ? "
                "WHERE partition = ? AND fence = ?",
                count, partition, fence) == 0) {
    return;
  }
  file_.Run(
      "DELETE FROM waiter_claims "
      "WHERE partition = ? AND fence = ? AND held <= 0",
      partition, fence);
}

WaitRange SqliteClaims::HeldUnder(int64_t partition, int64_t fence,
                                  const WaitPlace& bound) {
  SqliteRows rows = file_.Query(
      "SELECT from_due, from_id, to_due, to_id FROM waiter_claims "
      "WHERE partition = ? AND fence = ?",
      partition, fence);
  if (rows.Next()) return ReadRange(rows, 0);
  const WaitPlace last = {.due_us = fence, .id = kLast};
  if (bound.due_us >= fence) return {.from = bound, .to = last};
  return {.from = {.due_us = fence}, .to = last};
}

std::vector<std::pair<int64_t, WaitRange>> SqliteClaims::Take(int64_t partition,
                                                              int64_t last) {
  std::vector<std::pair<int64_t, WaitRange>> claims;
  {
    SqliteRows rows = file_.Query(
        "SELECT fence, from_due, from_id, to_due, to_id FROM waiter_claims "
        "WHERE partition = ? AND fence <= ?",
        partition, last);
    while (rows.Next()) {
      claims.emplace_back(rows.Number(0), ReadRange(rows, 1));
    }
  }
  if (claims.empty()) return claims;
  file_.Run("DELETE FROM waiter_claims WHERE partition = ? AND fence <= ?",
            partition, last);
  return claims;
}

// SQLite does not search an index for a comparison of (due_us, id), and very
// many waits may be due at the same time.
void SqliteClaims::Move(int64_t partition, const WaitRange& range,
                        int64_t due_us, int64_t crashes) {
  const auto& [from, to] = range;
  const auto move_tied = [&](int64_t time, int64_t after, int64_t last) {
    file_.Run(
        "UPDATE waiter_waits INDEXED BY waiter_due SET due_us = ?, "
        "crashes = crashes + ? + due_us % 2 "
        "WHERE partition = ? AND due_us = ? AND id > ? AND id <= ?",
        due_us, crashes, partition, time, after, last);
  };
  if (from.due_us == to.due_us) {
    return move_tied(from.due_us, from.id, to.id);
  }
  move_tied(from.due_us, from.id, kLast);
  file_.Run(
      "UPDATE waiter_waits INDEXED BY waiter_due SET due_us = ?, "
      "crashes = crashes + ? + due_us % 2 "
      "WHERE partition = ? AND due_us > ? AND due_us < ?",
      due_us, crashes, partition, from.due_us, to.due_us);
  move_tied(to.due_us, 0, to.id);
}

}  // namespace waiter::internal
