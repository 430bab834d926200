// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The requests of a store as statements of SQL, and how their rows are read:
//
//   PostgresCalls calls("waiter");
//   PostgresRequest<ClaimReply> claim = calls.Claim(request);
//   ... run claim.statement ...
//   absl::StatusOr<ClaimReply> reply = claim.read(std::move(rows));

#ifndef WAITER_DURABLE_STORE_POSTGRES_POSTGRES_CALLS_H_
#define WAITER_DURABLE_STORE_POSTGRES_POSTGRES_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store/postgres/postgres_values.h"

namespace waiter::internal {

template <typename T>
struct PostgresRequest {
  PostgresStatement statement;
  std::function<absl::StatusOr<T>(PostgresRows)> read;
  // The lock that the statement takes, and about how many waits it changes.
  std::string locks = {};
  int64_t weight = 1;
};

// Immutable. Each function makes the request of the `WaitStore` function with
// the same name.
class PostgresCalls {
 public:
  explicit PostgresCalls(std::string schema) : schema_(std::move(schema)) {}

  PostgresRequest<ClaimReply> Claim(const ClaimRequest& request) const;
  PostgresRequest<SettleReply> Settle(const SettleRequest& request) const;
  PostgresRequest<EnqueueReply> Enqueue(const EnqueueRequest& request) const;
  PostgresRequest<std::vector<StoredWait>> Signal(
      const SignalRequest& request) const;
  PostgresRequest<std::vector<StoredWait>> Get(
      const WaitPartition& partition,
      const std::vector<std::string>& keys) const;
  // `last` is the key before the first one.
  PostgresRequest<WaitStore::ScanReply> Scan(const WaitPartition& partition,
                                             std::string_view last) const;
  PostgresRequest<WaitStats> Stats(const WaitPartition& partition) const;
  PostgresRequest<int64_t> Mark(const WaitPartition& partition,
                                std::string_view key, bool begins) const;
  PostgresRequest<int64_t> Open(std::string_view space, std::string_view name,
                                int64_t partitions) const;
  PostgresRequest<std::vector<std::string>> Heartbeat(
      const HeartbeatRequest& request) const;
  PostgresRequest<WaitSpace> Describe(std::string_view space) const;
  PostgresRequest<CheckReply> Check(const WaitPartition& partition,
                                    std::string_view last) const;
  PostgresRequest<std::vector<FaultyWait>> Examine(
      const ExamineRequest& request) const;
  PostgresRequest<WaitServer> Inspect() const;

 private:
  // Returns "SELECT * FROM SCHEMA.store_FUNCTION(...)", without its parameters.
  PostgresStatement Call(std::string_view function, int parameters) const;
  // With the three parameters of the partition.
  PostgresStatement CallOn(const WaitPartition& partition,
                           std::string_view function, int more) const;

  const std::string schema_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_POSTGRES_POSTGRES_CALLS_H_
