// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stores durable waits on a Redis or Valkey server, 7.0 or newer:
//
//   auto client = waiter::RedisClient::Make(
//       "redis://10.0.0.5", {.call_timeout = absl::Seconds(5)});
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisWaitStore>(*client);
//
// A `RedisCluster` (redis/client.h) also works. One store, with its
// connections, serves all names of a process. Its keys begin with
// "waiter:{SPACE/NAME/PARTITION}:". Waits are stored nowhere else, so run the
// server with `appendonly yes` and `maxmemory-policy noeviction`;
// docs/durable.md lists what is lost otherwise. A server whose policy evicts
// keys without a time to live is refused.

#ifndef WAITER_DURABLE_REDIS_STORE_H_
#define WAITER_DURABLE_REDIS_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "waiter/clock.h"
#include "waiter/durable/store.h"
#include "waiter/redis/client.h"

namespace waiter {

class RedisWaitStore final : public WaitStore {
 public:
  explicit RedisWaitStore(std::shared_ptr<RedisCaller> client);

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
  const std::shared_ptr<RedisCaller> client_;
};

}  // namespace waiter

#endif  // WAITER_DURABLE_REDIS_STORE_H_
