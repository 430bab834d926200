// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Makes a `WaitStore` of a store whose calls block. One thread makes all calls
// and runs all callbacks and timers:
//
//   const auto store = std::make_shared<StoreThread>(
//       std::make_unique<SqliteWaits>(...));
//
// Requests that arrive while a transaction runs share the next one, so that the
// costs of a transaction are paid once for all of them. Callbacks come after
// its end. If the transaction breaks, each request is repeated in its own
// transaction, so that none fails because of another one.

#ifndef WAITER_DURABLE_STORE_THREAD_H_
#define WAITER_DURABLE_STORE_THREAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/durable/blocking_store.h"
#include "waiter/durable/store.h"
#include "waiter/internal/thread.h"

namespace waiter::internal {

// A request, and the reply to it until the transaction has ended.
class StoreCall {
 public:
  explicit StoreCall(bool writes) : writes_(writes) {}
  virtual ~StoreCall() = default;

  StoreCall(const StoreCall&) = delete;
  StoreCall& operator=(const StoreCall&) = delete;

  bool writes() const { return writes_; }
  // May be repeated.
  virtual void Run(BlockingWaitStore& store) = 0;
  // Calls back, with `status` if it is an error.
  virtual void Answer(const absl::Status& status) = 0;

 private:
  const bool writes_;
};

// Thread-safe. Its last reference may be dropped in one of its callbacks.
class StoreThread final : public WaitStore {
 public:
  explicit StoreThread(std::unique_ptr<BlockingWaitStore> store);
  // Ends after the calls and callbacks in progress. Answers all other requests
  // with kCancelled.
  ~StoreThread() override;

  void Claim(ClaimRequest request, Callback<ClaimReply> callback) override;
  void Settle(SettleRequest request, Callback<SettleReply> callback) override;
  void Enqueue(EnqueueRequest request,
               Callback<EnqueueReply> callback) override;
  void Signal(SignalRequest request,
              Callback<std::vector<StoredWait>> callback) override;
  void Get(WaitPartition partition, std::vector<std::string> keys,
           Callback<std::vector<StoredWait>> callback) override;
  void Scan(WaitPartition partition, std::string cursor,
            Callback<ScanReply> callback) override;
  void Stats(WaitPartition partition, Callback<WaitStats> callback) override;
  void Mark(WaitPartition partition, std::string key, bool begins,
            Callback<int64_t> callback) override;
  void Open(std::string space, std::string name, int64_t partitions,
            Callback<int64_t> callback) override;
  void Heartbeat(HeartbeatRequest request,
                 Callback<std::vector<std::string>> callback) override;
  void Describe(std::string space, Callback<WaitSpace> callback) override;
  void Check(WaitPartition partition, std::string cursor,
             Callback<CheckReply> callback) override;
  void Examine(ExamineRequest request,
               Callback<std::vector<FaultyWait>> callback) override;
  void Inspect(WaitPartition partition, Callback<WaitServer> callback) override;
  void RunAt(MonotonicTime time, std::function<void()> timer) override;
  Clock& clock() override;

 private:
  class Loop;

  template <typename T, typename... Parameters, typename... Arguments>
  void Call(bool writes, Callback<T> callback,
            absl::StatusOr<T> (BlockingWaitStore::*function)(Parameters...),
            Arguments... arguments);

  const std::shared_ptr<Loop> loop_;
  Thread thread_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_THREAD_H_
