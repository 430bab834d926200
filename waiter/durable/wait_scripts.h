// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The scripts of a `RedisWaitStore`, which are files of store/redis/:
//
//   client->Call(Scripts().claim, PartitionKeys(partition),
//                ClaimArguments(request), ...);
//
// If the meaning of a script changes, so does the version in its first lines.

#ifndef WAITER_DURABLE_WAIT_SCRIPTS_H_
#define WAITER_DURABLE_WAIT_SCRIPTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/durable/store.h"
#include "waiter/redis/internal/reply.h"

namespace waiter::internal {

struct WaitScripts {
  RedisScript claim, settle, enqueue, signal, get, scan, stats, mark, open,
      heartbeat, space, check, examine, inspect;
};
const WaitScripts& Scripts();

// Return the keys and the arguments of the scripts. All scripts except `open`,
// `heartbeat` and `space` take the keys of a partition.
std::vector<std::string> PartitionKeys(const WaitPartition& partition);
std::string NamesKey(const std::string& space);
std::string WorkersKey(const std::string& space);
std::vector<std::string> ClaimArguments(const ClaimRequest& request);
std::vector<std::string> SettleArguments(SettleRequest request);
std::vector<std::string> EnqueueArguments(const EnqueueRequest& request);
std::vector<std::string> SignalArguments(SignalRequest request);
std::vector<std::string> ExamineArguments(const ExamineRequest& request);

// The replies of the scripts.
absl::StatusOr<ClaimReply> ToClaimReply(RedisReply reply);
absl::StatusOr<SettleReply> ToSettleReply(const RedisReply& reply);
absl::StatusOr<EnqueueReply> ToEnqueueReply(const RedisReply& reply);
absl::StatusOr<std::vector<StoredWait>> ToStoredWaits(const RedisReply& reply);
absl::StatusOr<WaitStore::ScanReply> ToScanReply(const RedisReply& reply);
absl::StatusOr<WaitStats> ToWaitStats(const RedisReply& reply);
absl::StatusOr<WaitSpace> ToWaitSpace(const RedisReply& reply);
absl::StatusOr<CheckReply> ToCheckReply(const RedisReply& reply);
absl::StatusOr<std::vector<FaultyWait>> ToFaultyWaits(const RedisReply& reply);
absl::StatusOr<WaitServer> ToWaitServer(const RedisReply& reply);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_WAIT_SCRIPTS_H_
