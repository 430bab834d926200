// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Who holds the pending waits in an SQLite file. A claim writes one row, and
// none of the waits:
//
//   WaitPlace bound = claims.BoundForWrites(partition, now_us);
//   ...  // Find the first waits that are due behind the bound.
//   claims.Add(partition, fence, {.from = bound, .to = last}, count);
//
// The pending waits of a partition are in the order of their places.
// Invariants:
//
//   - Claims hold all waits up to the bound of the partition, and follow each
//     other there without a common wait. A row of `waiter_claims` has the fence
//     of a claim, the places between which it holds waits, and how many are
//     left: after a repair too many, but never too few.
//   - A due time that is written is behind the bound, so no wait joins a claim
//     later. Fences are also behind it: the bound is never later than the time
//     of the claim that set it, and its lease ends after that.
//   - Behind the bound, a wait is held while its due time is odd.

#ifndef WAITER_DURABLE_STORE_SQLITE_SQLITE_CLAIMS_H_
#define WAITER_DURABLE_STORE_SQLITE_SQLITE_CLAIMS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "waiter/durable/store/sqlite/sqlite_connection.h"

namespace waiter::internal {

// The due time and the row of a wait.
struct WaitPlace {
  int64_t due_us = 0;
  int64_t id = 0;
};

// The waits after `from`, up to `to`.
struct WaitRange {
  WaitPlace from;
  WaitPlace to;
};

// Returns the due time, behind the bound, of a wait that is to be due at
// `time`.
int64_t FreeDue(const WaitPlace& bound, int64_t time);

// Thread-compatible. Partitions are rows of `waiter_partitions`.
class SqliteClaims {
 public:
  // The connection must outlive this.
  explicit SqliteClaims(SqliteConnection& file) : file_(file) {}

  WaitPlace Bound(int64_t partition);
  // As `Bound`, before a due time is written. The time of a file may go back
  // when the machine starts, and then new waits would be due too late. If the
  // bound is more than 1 s ahead of the time, this drops the bound and the
  // claims, and each wait keeps the fence of its claim as its own.
  WaitPlace BoundForWrites(int64_t partition, int64_t now_us);

  // Frees the waits of claims whose leases are over.
  void EndOld(int64_t partition, const WaitPlace& bound, int64_t now_us);
  // Adds a claim of `count` waits behind the bound, which becomes `range.to`.
  void Add(int64_t partition, int64_t fence, const WaitRange& range,
           int64_t count);
  // Counts waits that have left the claim with this fence, if there is one.
  void Leave(int64_t partition, int64_t fence, int64_t count);

  // Returns the waits that are held under the fence.
  WaitRange HeldUnder(int64_t partition, int64_t fence, const WaitPlace& bound);

 private:
  // Returns the claims with fences up to `last`, and deletes them.
  std::vector<std::pair<int64_t, WaitRange>> Take(int64_t partition,
                                                  int64_t last);
  // Gives waits of a claim another due time. An odd one that they had before
  // the claim was of a holder that vanished.
  void Move(int64_t partition, const WaitRange& range, int64_t due_us,
            int64_t crashes);

  SqliteConnection& file_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_SQLITE_SQLITE_CLAIMS_H_
