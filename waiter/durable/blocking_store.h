// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The interface of a store whose calls block, such as a file. It is
// single-threaded and knows neither callbacks nor timers; `StoreThread`
// (store_thread.h) makes a `WaitStore` of it.

#ifndef WAITER_DURABLE_BLOCKING_STORE_H_
#define WAITER_DURABLE_BLOCKING_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/durable/store.h"

namespace waiter::internal {

// The functions have the requests and replies of `WaitStore`'s functions. Any
// number of them are called between `Begin` and `Commit`.
//
// A function that refuses its request returns an error and has changed nothing.
// Any other error breaks the transaction, whose `Commit` then fails with it.
class BlockingWaitStore {
 public:
  virtual ~BlockingWaitStore() = default;

  // Begins a transaction. `writes` says whether it may change anything. An
  // error means that it has not begun.
  virtual absl::Status Begin(bool writes) = 0;
  // Ends it. On an error nothing has changed, or it is kUnavailable.
  virtual absl::Status Commit() = 0;

  virtual absl::StatusOr<ClaimReply> Claim(const ClaimRequest& request) = 0;
  virtual absl::StatusOr<SettleReply> Settle(const SettleRequest& request) = 0;
  virtual absl::StatusOr<EnqueueReply> Enqueue(
      const EnqueueRequest& request) = 0;
  virtual absl::StatusOr<std::vector<StoredWait>> Signal(
      const SignalRequest& request) = 0;
  virtual absl::StatusOr<std::vector<StoredWait>> Get(
      const WaitPartition& partition, const std::vector<std::string>& keys) = 0;
  virtual absl::StatusOr<WaitStore::ScanReply> Scan(
      const WaitPartition& partition, const std::string& cursor) = 0;
  virtual absl::StatusOr<WaitStats> Stats(const WaitPartition& partition) = 0;
  virtual absl::StatusOr<int64_t> Mark(const WaitPartition& partition,
                                       const std::string& key, bool begins) = 0;
  virtual absl::StatusOr<int64_t> Open(const std::string& space,
                                       const std::string& name,
                                       int64_t partitions) = 0;
  virtual absl::StatusOr<std::vector<std::string>> Heartbeat(
      const HeartbeatRequest& request) = 0;
  virtual absl::StatusOr<WaitSpace> Describe(const std::string& space) = 0;
  virtual absl::StatusOr<CheckReply> Check(const WaitPartition& partition,
                                           const std::string& cursor) = 0;
  virtual absl::StatusOr<std::vector<FaultyWait>> Examine(
      const ExamineRequest& request) = 0;
  virtual absl::StatusOr<WaitServer> Inspect(
      const WaitPartition& partition) = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_BLOCKING_STORE_H_
