// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store that passes on all calls, and logs a worker's calls and replies:
//
//   class Log : public WaitLog { ... };
//   const auto store = std::make_shared<LoggedWaitStore>(inner, log);

#ifndef WAITER_TESTS_DURABLE_LOGGED_WAIT_STORE_H_
#define WAITER_TESTS_DURABLE_LOGGED_WAIT_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"

namespace waiter {

class WaitLog {
 public:
  virtual ~WaitLog() = default;

  // The worker gets the reply only after this returns.
  virtual void Claimed(const ClaimReply& reply) = 0;
  // `call` is a number that identifies this settle.
  virtual void Sends(int64_t call, const SettleRequest& request) = 0;
  virtual void Settled(int64_t call, const SettleReply& reply) = 0;
  // The worker will poll this suspect alone.
  virtual void Marks(const std::string& key) = 0;
};

class LoggedWaitStore final : public WaitStore {
 public:
  LoggedWaitStore(std::shared_ptr<WaitStore> inner,
                  std::shared_ptr<WaitLog> log)
      : inner_(std::move(inner)), log_(std::move(log)) {}

  void Claim(ClaimRequest request, Callback<ClaimReply> callback) override {
    inner_->Claim(std::move(request),
                  [log = log_, callback = std::move(callback)](
                      absl::StatusOr<ClaimReply> reply) {
                    if (reply.ok() && !reply->waits.empty()) {
                      log->Claimed(*reply);
                    }
                    callback(std::move(reply));
                  });
  }
  void Settle(SettleRequest request, Callback<SettleReply> callback) override {
    const int64_t call = ++calls_;
    log_->Sends(call, request);
    inner_->Settle(std::move(request),
                   [log = log_, call, callback = std::move(callback)](
                       absl::StatusOr<SettleReply> reply) {
                     if (reply.ok()) log->Settled(call, *reply);
                     callback(std::move(reply));
                   });
  }
  void Enqueue(EnqueueRequest request,
               Callback<EnqueueReply> callback) override {
    inner_->Enqueue(std::move(request), std::move(callback));
  }
  void Signal(SignalRequest request,
              Callback<std::vector<StoredWait>> callback) override {
    inner_->Signal(std::move(request), std::move(callback));
  }
  void Get(WaitPartition partition, std::vector<std::string> keys,
           Callback<std::vector<StoredWait>> callback) override {
    inner_->Get(std::move(partition), std::move(keys), std::move(callback));
  }
  void Scan(WaitPartition partition, std::string cursor,
            Callback<ScanReply> callback) override {
    inner_->Scan(std::move(partition), std::move(cursor), std::move(callback));
  }
  void Stats(WaitPartition partition, Callback<WaitStats> callback) override {
    inner_->Stats(std::move(partition), std::move(callback));
  }
  void Mark(WaitPartition partition, std::string key, bool begins,
            Callback<int64_t> callback) override {
    if (begins) log_->Marks(key);
    inner_->Mark(std::move(partition), std::move(key), begins,
                 std::move(callback));
  }
  void Open(std::string space, std::string name, int64_t partitions,
            Callback<int64_t> callback) override {
    inner_->Open(std::move(space), std::move(name), partitions,
                 std::move(callback));
  }
  void Describe(std::string space, Callback<WaitSpace> callback) override {
    inner_->Describe(std::move(space), std::move(callback));
  }
  void Heartbeat(HeartbeatRequest request,
                 Callback<std::vector<std::string>> callback) override {
    inner_->Heartbeat(std::move(request), std::move(callback));
  }
  void Check(WaitPartition partition, std::string cursor,
             Callback<CheckReply> callback) override {
    inner_->Check(std::move(partition), std::move(cursor), std::move(callback));
  }
  void Examine(ExamineRequest request,
               Callback<std::vector<FaultyWait>> callback) override {
    inner_->Examine(std::move(request), std::move(callback));
  }
  void Inspect(WaitPartition partition,
               Callback<WaitServer> callback) override {
    inner_->Inspect(std::move(partition), std::move(callback));
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    inner_->RunAt(time, std::move(timer));
  }
  Clock& clock() override { return inner_->clock(); }

 private:
  const std::shared_ptr<WaitStore> inner_;
  const std::shared_ptr<WaitLog> log_;
  std::atomic<int64_t> calls_ = 0;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_LOGGED_WAIT_STORE_H_
