// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// How a durable wait ended (distributed/durable_waits.h):
//
//   absl::Status OnResult(const waiter::DurableResult& result) {
//     if (!result.value.ok()) return Escalate(result.key,
//     result.value.status()); return Insert(result.idempotency_key,
//     *result.value);
//   }

#ifndef WAITER_DISTRIBUTED_DURABLE_RESULT_H_
#define WAITER_DISTRIBUTED_DURABLE_RESULT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/wait_report.h"

namespace waiter {

// A value.
struct DurableResult {
  std::string name;
  std::string key;

  // The bytes of the success, or an error with the code of `reason`, as that of
  // a `WaitResult`. Its message is cut to 1000 bytes.
  absl::StatusOr<std::string> value = absl::UnknownError("");
  StopReason reason = StopReason::kFailed;

  int64_t attempts = 0;
  // From the enqueue to the end, by the store's clock.
  absl::Duration elapsed;

  // The same for each delivery of this result, and for no other one.
  std::string idempotency_key;
  // Ordinal of this delivery, from 1, as far as the store knows.
  int64_t delivery = 1;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_DURABLE_RESULT_H_
