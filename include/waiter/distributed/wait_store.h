// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What durable waits need of a store. `RedisWaitStore`
// (distributed/redis_wait_store.h) is one on Redis:
//
//   auto client = waiter::RedisClient::Make("redis://10.0.0.5");
//   if (!client.ok()) return client.status();
//   const auto store = std::make_shared<waiter::RedisWaitStore>(*client);
//
// Programs need no more of this header than that. It is public for stores of
// your own, and for tests, which can put all workers and the store into one
// simulation.
//
// The waits of one name are divided into partitions, by their keys. A pending
// wait has one number: the time from which anybody may claim it. While a worker
// holds it, that is the end of the worker's lease; so the waits of a worker
// that died become due by themselves. The number is also the fence: who does
// not know it cannot change the wait.
//
// All times are those of the store's clock, in microseconds since 1970.

#ifndef WAITER_DISTRIBUTED_WAIT_STORE_H_
#define WAITER_DISTRIBUTED_WAIT_STORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/distributed/wait_check_messages.h"  // IWYU pragma: export
#include "waiter/distributed/wait_store_messages.h"  // IWYU pragma: export

namespace waiter {

// Thread-safe. Requests never block, and each is answered exactly once: also if
// the store is unreachable or this is destroyed. No callback and no timer is
// called before the function returns that was given it, under a lock, or at the
// same time as another one; they must return soon.
//
// An error kUnavailable means that the outcome is not known. All others mean
// that the request had no effect.
class WaitStore {
 public:
  template <typename T>
  using Callback = std::function<void(absl::StatusOr<T>)>;

  virtual ~WaitStore() = default;

  virtual void Claim(ClaimRequest request, Callback<ClaimReply> callback) = 0;
  virtual void Settle(SettleRequest request,
                      Callback<SettleReply> callback) = 0;

  // kResourceExhausted if the partition or the store is full.
  virtual void Enqueue(EnqueueRequest request,
                       Callback<EnqueueReply> callback) = 0;

  // Asks that pending waits end as cancelled. Returns them as they are then.
  virtual void Cancel(WaitPartition partition, std::vector<std::string> keys,
                      Callback<std::vector<StoredWait>> callback) = 0;
  virtual void Get(WaitPartition partition, std::vector<std::string> keys,
                   Callback<std::vector<StoredWait>> callback) = 0;

  // One step through all waits. Starts with the cursor "0" and ends when it
  // returns that; a wait may come twice.
  struct ScanReply {
    std::string cursor = {};
    std::vector<StoredWait> waits = {};
  };
  virtual void Scan(WaitPartition partition, std::string cursor,
                    Callback<ScanReply> callback) = 0;

  virtual void Stats(WaitPartition partition, Callback<WaitStats> callback) = 0;

  // Notes that a poll of a suspect begins, or that it has ended. Returns the
  // number of those that never did.
  virtual void Mark(WaitPartition partition, std::string key, bool begins,
                    Callback<int64_t> callback) = 0;

  // Returns the number of partitions of a name, which is `partitions` if nobody
  // has opened the name before. kFailedPrecondition if the store is set up so
  // that it may delete waits.
  virtual void Open(std::string space, std::string name, int64_t partitions,
                    Callback<int64_t> callback) = 0;

  // Tells the store that `worker` lives, and returns the workers of the space
  // that told it so within 10 s.
  virtual void Beat(std::string space, std::string worker,
                    Callback<std::vector<std::string>> callback) = 0;

  virtual void Describe(std::string space, Callback<WaitSpace> callback) = 0;

  // For `CheckDurableWaits`. Begins with an empty cursor. A wait that changes
  // between two steps may be missing, or come twice.
  virtual void Check(WaitPartition partition, std::string cursor,
                     Callback<CheckReply> callback) = 0;
  // Returns what is, or was before the repair, wrong with these keys.
  virtual void Examine(ExamineRequest request,
                       Callback<std::vector<FaultyWait>> callback) = 0;
  virtual void Inspect(WaitPartition partition,
                       Callback<WaitServer> callback) = 0;

  // Calls `timer` once, at `time` or soon after; not if this is destroyed
  // before.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of the timers, which must be that of the waits.
  virtual Clock& clock() = 0;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_WAIT_STORE_H_
