// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/classify.h"

#include <utility>

#include "absl/status/status.h"
#include "waiter/poll.h"

namespace waiter {

PollStatus ClassOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return PollStatus::kSuccess;
    case absl::StatusCode::kUnavailable:
      return PollStatus::kServerError;
    case absl::StatusCode::kResourceExhausted:
      return PollStatus::kThrottled;
    default:
      return PollStatus::kFailed;
  }
}

Poll<> FromStatus(absl::Status status) {
  const PollStatus found = ClassOf(status.code());
  return {found, std::move(status)};
}

}  // namespace waiter
