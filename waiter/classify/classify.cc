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

PollStatus ClassOfHttp(int http_status) {
  switch (http_status) {
    case 202:
      return PollStatus::kNotReady;
    case 408:
    case 425:
      return PollStatus::kServerError;
    case 429:
      return PollStatus::kThrottled;
    case 501:
    case 505:
      return PollStatus::kFailed;
    default:
      if (http_status >= 200 && http_status < 300) return PollStatus::kSuccess;
      if (http_status >= 500 && http_status < 600) {
        return PollStatus::kServerError;
      }
      return PollStatus::kFailed;
  }
}

Poll<> FromStatus(absl::Status status) {
  const PollStatus found = ClassOf(status.code());
  return {found, std::move(status)};
}

}  // namespace waiter
