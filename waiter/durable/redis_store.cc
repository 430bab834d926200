// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/redis_store.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"
#include "waiter/durable/wait_scripts.h"
#include "waiter/redis/client.h"
#include "waiter/redis/internal/reply.h"

namespace waiter {
namespace {

using internal::PartitionKeys;

// Returns a callback of the client that passes on an error, or reads the reply.
template <typename T, typename Reply>
RedisCaller::Callback Reading(absl::StatusOr<T> (*read)(Reply),
                              WaitStore::Callback<T> callback) {
  return
      [read, callback = std::move(callback)](absl::StatusOr<RedisReply> reply) {
        if (!reply.ok()) return callback(reply.status());
        callback(read(*std::move(reply)));
      };
}

absl::StatusOr<int64_t> ToNumber(const RedisReply& reply) {
  return reply.integer;
}

absl::StatusOr<std::vector<std::string>> ToTexts(const RedisReply& reply) {
  std::vector<std::string> texts;
  for (const RedisReply& element : reply.elements) {
    texts.push_back(element.text);
  }
  return texts;
}

}  // namespace

RedisWaitStore::RedisWaitStore(std::shared_ptr<RedisCaller> client)
    : client_(std::move(client)) {}

void RedisWaitStore::Claim(ClaimRequest request,
                           Callback<ClaimReply> callback) {
  client_->Call(internal::Scripts().claim, PartitionKeys(request.partition),
                internal::ClaimArguments(request),
                Reading(internal::ToClaimReply, callback));
}

void RedisWaitStore::Settle(SettleRequest request,
                            Callback<SettleReply> callback) {
  std::vector<std::string> keys = PartitionKeys(request.partition);
  client_->Call(internal::Scripts().settle, std::move(keys),
                internal::SettleArguments(std::move(request)),
                Reading(internal::ToSettleReply, callback));
}

void RedisWaitStore::Enqueue(EnqueueRequest request,
                             Callback<EnqueueReply> callback) {
  client_->Call(internal::Scripts().enqueue, PartitionKeys(request.partition),
                internal::EnqueueArguments(request),
                Reading(internal::ToEnqueueReply, callback));
}

void RedisWaitStore::Signal(SignalRequest request,
                            Callback<std::vector<StoredWait>> callback) {
  const WaitPartition partition = request.partition;
  client_->Call(internal::Scripts().signal, PartitionKeys(partition),
                internal::SignalArguments(std::move(request)),
                Reading(internal::ToStoredWaits, callback));
}

void RedisWaitStore::Get(WaitPartition partition, std::vector<std::string> keys,
                         Callback<std::vector<StoredWait>> callback) {
  client_->Call(internal::Scripts().get, PartitionKeys(partition),
                std::move(keys), Reading(internal::ToStoredWaits, callback));
}

void RedisWaitStore::Scan(WaitPartition partition, std::string cursor,
                          Callback<ScanReply> callback) {
  client_->Call(internal::Scripts().scan, PartitionKeys(partition),
                {std::move(cursor)}, Reading(internal::ToScanReply, callback));
}

void RedisWaitStore::Stats(WaitPartition partition,
                           Callback<WaitStats> callback) {
  client_->Call(internal::Scripts().stats, PartitionKeys(partition), {},
                Reading(internal::ToWaitStats, callback));
}

void RedisWaitStore::Mark(WaitPartition partition, std::string key, bool begins,
                          Callback<int64_t> callback) {
  client_->Call(internal::Scripts().mark, PartitionKeys(partition),
                {std::move(key), begins ? "1" : "0"},
                Reading(ToNumber, callback));
}

void RedisWaitStore::Open(std::string space, std::string name,
                          int64_t partitions, Callback<int64_t> callback) {
  client_->Call(internal::Scripts().open, {internal::NamesKey(space)},
                {std::move(name), absl::StrCat(partitions)},
                Reading(ToNumber, callback));
}

void RedisWaitStore::Heartbeat(HeartbeatRequest request,
                               Callback<std::vector<std::string>> callback) {
  client_->Call(internal::Scripts().heartbeat,
                {internal::WorkersKey(request.space)},
                {std::move(request.worker), request.leaves ? "1" : "0"},
                Reading(ToTexts, callback));
}

void RedisWaitStore::Describe(std::string space, Callback<WaitSpace> callback) {
  client_->Call(internal::Scripts().space,
                {internal::NamesKey(space), internal::WorkersKey(space)}, {},
                Reading(internal::ToWaitSpace, callback));
}

void RedisWaitStore::Check(WaitPartition partition, std::string cursor,
                           Callback<CheckReply> callback) {
  client_->Call(internal::Scripts().check, PartitionKeys(partition),
                {std::move(cursor)}, Reading(internal::ToCheckReply, callback));
}

void RedisWaitStore::Examine(ExamineRequest request,
                             Callback<std::vector<FaultyWait>> callback) {
  client_->Call(internal::Scripts().examine, PartitionKeys(request.partition),
                internal::ExamineArguments(request),
                Reading(internal::ToFaultyWaits, callback));
}

void RedisWaitStore::Inspect(WaitPartition partition,
                             Callback<WaitServer> callback) {
  client_->Call(internal::Scripts().inspect, PartitionKeys(partition), {},
                Reading(internal::ToWaitServer, callback));
}

void RedisWaitStore::RunAt(MonotonicTime time, std::function<void()> timer) {
  client_->RunAt(time, std::move(timer));
}

Clock& RedisWaitStore::clock() { return client_->clock(); }

}  // namespace waiter
