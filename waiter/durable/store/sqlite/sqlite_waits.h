// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The waits in an SQLite file.
//
// Invariants of the rows of `waiter_waits`:
//
//   due_us   of a pending wait, its `DueNumber`, unless a claim holds the wait;
//            NULL once it is delivered
//   forget   of a delivered wait, when to delete it; NULL before
//   notified   2 once its holder knows, or if the next one is to know;
//            1 if it was notified while held
//   crashes, marks, cancelled, notified   zero once it is delivered
//
// `SqliteClaims` says which waits a claim holds. A row of `waiter_partitions`
// also has the last fence, and the numbers of its pending and kept waits.

#ifndef WAITER_DURABLE_STORE_SQLITE_SQLITE_WAITS_H_
#define WAITER_DURABLE_STORE_SQLITE_SQLITE_WAITS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/durable/blocking_store.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/sqlite/sqlite_claims.h"
#include "waiter/durable/store/sqlite/sqlite_clock.h"
#include "waiter/durable/store/sqlite/sqlite_connection.h"
#include "waiter/durable/store/sqlite/sqlite_log_copier.h"

namespace waiter::internal {

// Thread-compatible.
class SqliteWaits final : public BlockingWaitStore {
 public:
  // Takes a file that `PrepareSqliteFile` has prepared.
  explicit SqliteWaits(std::unique_ptr<SqliteConnection> file);

  absl::Status Begin(bool writes) override;
  absl::Status Commit() override;

  absl::StatusOr<ClaimReply> Claim(const ClaimRequest& request) override;
  absl::StatusOr<SettleReply> Settle(const SettleRequest& request) override;
  absl::StatusOr<EnqueueReply> Enqueue(const EnqueueRequest& request) override;
  absl::StatusOr<std::vector<StoredWait>> Signal(
      const SignalRequest& request) override;
  absl::StatusOr<std::vector<StoredWait>> Get(
      const WaitPartition& partition,
      const std::vector<std::string>& keys) override;
  absl::StatusOr<WaitStore::ScanReply> Scan(const WaitPartition& partition,
                                            const std::string& cursor) override;
  absl::StatusOr<WaitStats> Stats(const WaitPartition& partition) override;
  absl::StatusOr<int64_t> Mark(const WaitPartition& partition,
                               const std::string& key, bool begins) override;
  absl::StatusOr<int64_t> Open(const std::string& space,
                               const std::string& name,
                               int64_t partitions) override;
  absl::StatusOr<std::vector<std::string>> Heartbeat(
      const HeartbeatRequest& request) override;
  absl::StatusOr<WaitSpace> Describe(const std::string& space) override;

  // In sqlite_checks.cc.
  absl::StatusOr<CheckReply> Check(const WaitPartition& partition,
                                   const std::string& cursor) override;
  absl::StatusOr<std::vector<FaultyWait>> Examine(
      const ExamineRequest& request) override;
  absl::StatusOr<WaitServer> Inspect(const WaitPartition& partition) override;

 private:
  // The identity of a partition in the file; zero is none.
  using PartitionId = int64_t;

  // A wait to be added.
  struct NewWait {
    std::string_view key;
    int64_t born_us = 0;
    int64_t delay_us = 0;
    std::string_view record;
    std::string_view args;
  };

  // Returns the reply, or the error that has broken the transaction.
  template <typename T>
  absl::StatusOr<T> Finish(T reply) const {
    if (!file_->status().ok()) return file_->status();
    return reply;
  }

  void ReadTime(bool writes);
  // Moves the waits that other programs have enqueued or signalled.
  bool HasInbox();
  void EmptyInbox();
  void TakeFromInbox(SqliteRows& row);

  PartitionId Find(const WaitPartition& partition);
  PartitionId FindOrAdd(const WaitPartition& partition);

  // Returns a fence above all before, and writes it.
  int64_t NextFence(PartitionId partition, int64_t lease_us, int64_t polls);
  std::optional<int64_t> FirstDue(PartitionId partition);
  void AddToCounter(PartitionId partition, std::string_view counter,
                    int64_t count);

  // Returns whether the wait is new.
  bool Add(PartitionId partition, const WaitPlace& bound, const NewWait& wait);
  bool Insert(PartitionId partition, const WaitPlace& bound,
              const NewWait& wait);
  bool Forget(PartitionId partition, std::string_view key, int64_t time);
  int64_t CountNew(PartitionId partition,
                   const std::vector<EnqueueItem>& items);

  // Returns the wait if it is one of `held`, and zero otherwise.
  int64_t FindHeld(PartitionId partition, std::string_view key,
                   const WaitRange& held);
  void SettleOne(PartitionId partition, int64_t id, const SettleItem& item,
                 const SettleRequest& request, int64_t fence,
                 const WaitPlace& bound);
  void Deliver(PartitionId partition, int64_t id, const SettleItem& item,
               const SettleRequest& request);
  std::vector<std::string> Cancelled(PartitionId partition,
                                     const std::set<std::string>& held);
  void ForgetOld(PartitionId partition, int64_t most);

  void SignalOne(PartitionId partition, std::string_view key,
                 WaitSignal signal);
  StoredWait Row(PartitionId partition, const std::string& key);

  std::vector<WaitFault> ExamineOne(PartitionId partition,
                                    const std::string& key, bool repairs);

  const std::unique_ptr<SqliteConnection> file_;
  SqliteLogCopier log_copier_;
  SqliteClaims claims_;
  // Known to this connection; a failed transaction adds none.
  absl::flat_hash_map<std::string, PartitionId> partitions_;
  SqliteClock clock_;
  // The time of the transaction, and the wall clock's.
  int64_t now_us_ = 0;
  int64_t wall_us_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_SQLITE_SQLITE_WAITS_H_
