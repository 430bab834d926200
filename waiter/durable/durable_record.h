// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The bytes that durable waits keep in the store:
//
//   std::string bytes = DurableRecord{.born_us = 5, .token = token}.Encode();
//   absl::StatusOr<DurableRecord> record = ParseRecord(bytes);
//
// A record is text, up to the token or the message at its end: phase, born,
// version, and then
//
//   of a pending wait   timeout, token
//   of an ended one     code, reason, attempts, elapsed, deliveries, message

#ifndef WAITER_DURABLE_DURABLE_RECORD_H_
#define WAITER_DURABLE_DURABLE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

// All times are in microseconds of the store's clock.
struct DurableRecord {
  WaitPhase phase = WaitPhase::kPending;
  int64_t born_us = 0;  // When it was enqueued.

  // State of a pending wait. Without a timeout, the policy's applies. The token
  // is empty until a worker claims the wait.
  std::optional<int64_t> timeout_us = {};
  WaitToken token = {};

  // Outcome of an ended wait. The value of a success is not in the record.
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message = {};  // As `CutMessage` returns it.
  StopReason reason = StopReason::kSuccess;
  int64_t attempts = 0;
  int64_t elapsed_us = 0;
  int64_t deliveries = 0;  // Failed ones.

  std::string Encode() const;

  // Returns the record after the phase and the time, for `EnqueueItem::record`.
  std::string EncodeRest() const;
};

// Returns the first 1000 bytes, without a part of a character at the end.
std::string CutMessage(std::string_view message);

// Returns kInvalidArgument for bytes that are not a record, and kUnimplemented
// for a record of a newer version.
absl::StatusOr<DurableRecord> ParseRecord(std::string_view bytes);

// Returns the result of an ended wait.
DurableResult ToResult(std::string_view space, std::string_view name,
                       std::string_view key, const DurableRecord& record,
                       std::string_view value);

// Returns the partition of a key, below `partitions`.
int PartitionOf(std::string_view key, int64_t partitions);

// Return OK, or an error if the text is not a key of 1 to 128 bytes, if a field
// of the request is invalid, or if the options of the space are.
absl::Status CheckKey(std::string_view key);
absl::Status CheckRequest(const DurableRequest& request);
absl::Status CheckSpace(std::string_view space, int64_t partitions);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_DURABLE_RECORD_H_
